// Loads libnccl and calls it.
#include "backend/cuda/libraries/nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "backend/cuda/libraries/library.h"
#include "base/error.h"

namespace laptime::cuda {
namespace {

constexpr const char* kNcclLibrary = "libnccl.so.2";

void find_functions(Library& library, Nccl& functions) {
  library.find(functions.ncclGetVersion, "ncclGetVersion");
  library.find(functions.ncclGetErrorString, "ncclGetErrorString");
  library.find(functions.ncclGetLastError, "ncclGetLastError");
  library.find(functions.ncclGetUniqueId, "ncclGetUniqueId");
  library.find(functions.ncclCommInitRank, "ncclCommInitRank");
  library.find(functions.ncclCommDestroy, "ncclCommDestroy");
  library.find(functions.ncclCommAbort, "ncclCommAbort");
  library.find(functions.ncclCommGetAsyncError, "ncclCommGetAsyncError");
  library.find(functions.ncclGroupStart, "ncclGroupStart");
  library.find(functions.ncclGroupEnd, "ncclGroupEnd");
  library.find(functions.ncclAllReduce, "ncclAllReduce");
  library.find(functions.ncclReduceScatter, "ncclReduceScatter");
  library.find(functions.ncclAllGather, "ncclAllGather");
}

// Returns, on every rank, the identifier that rank 0 generates.
NcclUniqueId shared_id(const Nccl& nccl, Group& group) {
  NcclUniqueId id{};
  const Message message{0, reinterpret_cast<std::byte*>(id.bytes), sizeof(id)};
  if (group.rank() != 0) {
    group.exchange({}, {&message, 1});
    return id;
  }
  nccl.check(nccl.ncclGetUniqueId(&id), "ncclGetUniqueId");
  std::vector<Message> outgoing(static_cast<size_t>(group.size()) - 1, message);
  for (int peer = 1; peer < group.size(); ++peer) outgoing[static_cast<size_t>(peer) - 1].peer = peer;
  group.exchange(outgoing, {});
  return id;
}

}  // namespace

std::string Nccl::failure(NcclStatus status, const char* what) const {
  const char* const last = ncclGetLastError(nullptr);
  const bool has_detail = last != nullptr && *last != '\0';
  return fmt::format("NCCL: {} failed: {} (status {}){}{}", what, ncclGetErrorString(status), status,
                     has_detail ? "; " : "", has_detail ? last : "");
}

void Nccl::check(NcclStatus status, const char* what) const {
  if (status != kNcclSuccess) throw Error(failure(status, what));
}

std::shared_ptr<const Nccl> find_nccl() {
  Library library(kNcclLibrary);
  if (!library.is_loaded()) return nullptr;
  auto functions = std::make_shared<Nccl>();
  find_functions(library, *functions);
  return library.missing() == nullptr ? functions : nullptr;
}

int nccl_version(const Nccl* nccl) {
  int version = 0;
  return nccl == nullptr || nccl->ncclGetVersion(&version) != kNcclSuccess ? 0 : version;
}

Communicator::Communicator(std::shared_ptr<const Nccl> nccl, Group& group) : nccl_(std::move(nccl)) {
  nccl_->check(nccl_->ncclCommInitRank(&comm_, group.size(), shared_id(*nccl_, group), group.rank()),
               "ncclCommInitRank");
}

Communicator::~Communicator() {
  if (comm_ == nullptr) return;
  if (std::uncaught_exceptions() > 0) {
    nccl_->ncclCommAbort(comm_);
  } else {
    nccl_->ncclCommDestroy(comm_);
  }
}

std::string Communicator::launch(Collective collective, std::span<const TensorView> in, std::span<const TensorView> out,
                                 StreamHandle stream) const {
  const auto enqueue = [&](const TensorView& from, const TensorView& to) {
    const void* const send = from.as<float>();
    void* const receive = to.as<float>();
    const auto count = static_cast<size_t>(std::min(from.numel(), to.numel()));
    switch (collective) {
      case Collective::kAllReduce:
        return nccl_->ncclAllReduce(send, receive, count, kNcclFloat32, kNcclSum, comm_, stream);
      case Collective::kReduceScatter:
        return nccl_->ncclReduceScatter(send, receive, count, kNcclFloat32, kNcclSum, comm_, stream);
      case Collective::kAllGather: return nccl_->ncclAllGather(send, receive, count, kNcclFloat32, comm_, stream);
    }
    return kNcclSuccess;
  };
  NcclStatus status = nccl_->ncclGroupStart();
  for (size_t i = 0; i < in.size() && status == kNcclSuccess; ++i) status = enqueue(in[i], out[i]);
  const NcclStatus ended = nccl_->ncclGroupEnd();
  if (status == kNcclSuccess) status = ended;
  return status == kNcclSuccess ? std::string() : nccl_->failure(status, "a collective");
}

const std::string& Communicator::failure() {
  if (!failure_.empty()) return failure_;
  NcclStatus status = kNcclSuccess;
  const NcclStatus asked = nccl_->ncclCommGetAsyncError(comm_, &status);
  if (asked != kNcclSuccess) status = asked;
  if (status == kNcclSuccess || status == kNcclInProgress) return failure_;
  failure_ = nccl_->failure(status, "communication with another rank");
  // Runs in its own thread, because ncclCommAbort stops the kernels and then blocks until the CUDA graphs that contain
  // them are destroyed. The caller destroys the graphs only after this function has returned the error.
  aborting_ = std::jthread([nccl = nccl_, comm = std::exchange(comm_, nullptr)] { nccl->ncclCommAbort(comm); });
  return failure_;
}

}  // namespace laptime::cuda
