// Nccl: the functions of NCCL that we call, loaded at run time, and Communicator, which runs its collectives.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "backend/cuda/driver.h"
#include "backend/cuda/group_queue.h"
#include "backend/group.h"

namespace laptime::cuda {

// Types of the library's ABI, declared here so that building does not need the library's headers.
using NcclStatus = int;
using NcclComm = struct NcclCommObject*;
struct NcclUniqueId {
  char bytes[128];
};

inline constexpr NcclStatus kNcclSuccess = 0, kNcclInProgress = 7;
inline constexpr int kNcclFloat32 = 7;
inline constexpr int kNcclSum = 0;

// Each member is named after a function of libnccl.
struct Nccl {
  // NOLINTBEGIN(readability-identifier-naming): the names of libnccl
  NcclStatus (*ncclGetVersion)(int* version) = nullptr;
  const char* (*ncclGetErrorString)(NcclStatus status) = nullptr;
  const char* (*ncclGetLastError)(NcclComm comm) = nullptr;
  NcclStatus (*ncclGetUniqueId)(NcclUniqueId* id) = nullptr;
  NcclStatus (*ncclCommInitRank)(NcclComm* comm, int ranks, NcclUniqueId id, int rank) = nullptr;
  NcclStatus (*ncclCommDestroy)(NcclComm comm) = nullptr;
  NcclStatus (*ncclCommAbort)(NcclComm comm) = nullptr;
  NcclStatus (*ncclCommGetAsyncError)(NcclComm comm, NcclStatus* status) = nullptr;
  NcclStatus (*ncclGroupStart)() = nullptr;
  NcclStatus (*ncclGroupEnd)() = nullptr;
  NcclStatus (*ncclAllReduce)(const void* from, void* to, size_t count, int type, int op, NcclComm comm,
                              StreamHandle stream) = nullptr;
  NcclStatus (*ncclReduceScatter)(const void* from, void* to, size_t count, int type, int op, NcclComm comm,
                                  StreamHandle stream) = nullptr;
  NcclStatus (*ncclAllGather)(const void* from, void* to, size_t count, int type, NcclComm comm,
                              StreamHandle stream) = nullptr;
  // NOLINTEND(readability-identifier-naming)

  // The message for a failed call, with the library's description of the error.
  std::string failure(NcclStatus status, const char* what) const;
  // Throws Error if `status` is not kNcclSuccess.
  void check(NcclStatus status, const char* what) const;
};

// The value of Kernel::library.
inline constexpr const char* kNcclName = "NCCL";

// Loads libnccl.so.2. Returns null if it is not installed or lacks a function. Never throws.
std::shared_ptr<const Nccl> find_nccl();
// The version as ncclGetVersion encodes it, 22703 for 2.27.3; 0 if `nccl` is null or the call fails.
int nccl_version(const Nccl* nccl);

// Connects the ranks of a group. Each rank has a GPU of its own, whose context must be current.
class Communicator {
 public:
  // All ranks must create their communicators together. Rank 0 sends NCCL's identifier of the communicator to the other
  // ranks through the group.
  Communicator(std::shared_ptr<const Nccl> nccl, Group& group);
  // Waits for the other ranks, except during stack unwinding: after an exception, the other ranks may never reach their
  // destructors.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // Enqueues one launch (see GroupQueue). Returns the error; empty if there is none.
  std::string launch(Collective collective, std::span<const TensorView> in, std::span<const TensorView> out,
                     StreamHandle stream) const;
  // The first error that NCCL has met, such as a lost connection; empty if there is none. After an error, collectives
  // are aborted, so that their stream does not wait forever.
  const std::string& failure();

 private:
  std::shared_ptr<const Nccl> nccl_;
  NcclComm comm_ = nullptr;  // null after an abort
  std::string failure_;
  std::jthread aborting_;
};

}  // namespace laptime::cuda
