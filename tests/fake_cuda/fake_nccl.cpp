// Stands in for libnccl, for ranks on one machine with the GPUs of fake_cuda.cpp. It has only the functions that
// laptime calls. For each launch, a rank writes its inputs to a file, and reads the files of the other ranks. Sums are
// added in the order of a ring, as in NCCL. LAPTIME_FAKE_NCCL_FAIL=STATUS@LAUNCH: launch number LAUNCH, counted
// from 1 in each communicator, never ends, and the communicator reports STATUS.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "backend/cuda/libraries/nccl.h"
#include "fake_cuda/fake_card.h"

namespace laptime::cuda {

struct NcclCommObject {
  std::string folder;
  int rank = 0;
  int ranks = 1;
  long launches = 0;  // number of launches that have begun
  NcclStatus failed = kNcclSuccess;
  bool is_aborted = false;
  // Each launch in a CUDA graph holds a copy, so use_count() is above 1 while graphs with launches exist.
  std::shared_ptr<char> in_graphs = std::make_shared<char>();
};

}  // namespace laptime::cuda

namespace {

using namespace laptime::cuda;

constexpr NcclStatus kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5;

struct Part {
  Collective collective{};
  const float* from = nullptr;
  float* to = nullptr;
  size_t count = 0;

  size_t inputs(int ranks) const {
    return collective == Collective::kReduceScatter ? count * static_cast<size_t>(ranks) : count;
  }
};

// Calls between ncclGroupStart and ncclGroupEnd.
struct OpenGroup {
  int depth = 0;
  std::vector<Part> parts;
  NcclComm comm = nullptr;
  StreamHandle stream = nullptr;
};

OpenGroup& open_group() {
  thread_local OpenGroup the_group;
  return the_group;
}

std::string& last_error() {
  thread_local std::string the_error;
  return the_error;
}

// Communicators live as long as the process, because a stream may still hold work of an aborted communicator.
NcclComm new_comm(const NcclCommObject& comm) {
  static std::mutex mutex;
  static std::deque<NcclCommObject> all;
  const std::lock_guard lock(mutex);
  return &all.emplace_back(comm);
}

NcclStatus fail(NcclStatus status, const char* text) {
  last_error() = text;
  return status;
}

std::string file_of(const NcclCommObject& comm, const std::string& what, int rank) {
  return comm.folder + "/" + what + "." + std::to_string(rank);
}

// Writes a file for the other ranks. The file appears only when complete.
void publish(const NcclCommObject& comm, const std::string& what, const std::string& bytes) {
  const std::string name = file_of(comm, what, comm.rank);
  std::ofstream(name + ".new", std::ios::binary) << bytes;
  std::rename((name + ".new").c_str(), name.c_str());
}

// The bytes that each rank has published; absent until all ranks have published.
std::optional<std::vector<std::string>> published(const NcclCommObject& comm, const std::string& what) {
  std::vector<std::string> all;
  for (int rank = 0; rank < comm.ranks; ++rank) {
    std::ifstream file(file_of(comm, what, rank), std::ios::binary);
    if (!file) return std::nullopt;
    all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return all;
}

// Publishes `bytes`, waits until every rank has published, and returns the bytes of each rank.
std::vector<std::string> meet(const NcclCommObject& comm, const std::string& what, const std::string& bytes) {
  publish(comm, what, bytes);
  for (;;) {
    if (auto all = published(comm, what)) return *all;
    usleep(200);
  }
}

// Rank 0 removes the folder when no other rank needs it.
void leave(const NcclCommObject& comm) {
  if (comm.rank != 0) return publish(comm, "gone", {});
  meet(comm, "gone", {});
  std::filesystem::remove_all(comm.folder);
}

// One launch: the collectives of a group of calls.
class Launched {
 public:
  Launched(NcclComm comm, std::vector<Part> parts, bool is_captured)
      : comm_(comm), parts_(std::move(parts)), in_graph_(is_captured ? comm->in_graphs : nullptr) {}

  // Returns false until all ranks have contributed, and after a failure. Returns true after an abort.
  bool operator()() {
    if (comm_->is_aborted) return true;
    if (!is_published_) {
      ++comm_->launches;
      is_published_ = true;
      if (is_planned_to_fail()) return comm_->failed = planned_.first, false;
      publish(*comm_, name(comm_->launches), contribution());
    }
    if (comm_->failed != kNcclSuccess) return false;
    const auto all = published(*comm_, name(comm_->launches));
    if (!all) return false;
    // All ranks have finished the previous launch, because they contribute to this one.
    if (comm_->launches > 1) std::filesystem::remove(file_of(*comm_, name(comm_->launches - 1), comm_->rank));
    return receive(*all);
  }

 private:
  static std::string name(long launch) { return "launch" + std::to_string(launch); }

  bool is_planned_to_fail() {
    const char* const text = std::getenv("LAPTIME_FAKE_NCCL_FAIL");
    return text != nullptr && std::sscanf(text, "%d@%ld", &planned_.first, &planned_.second) == 2 &&
           planned_.second == comm_->launches;
  }

  // The kinds and sizes of the collectives, which must be equal on all ranks.
  std::string header() const {
    std::string text;
    for (const Part& part : parts_)
      text += std::to_string(static_cast<int>(part.collective)) + " " + std::to_string(part.count) + "\n";
    return text;
  }
  std::string contribution() const {
    std::string bytes = header();
    for (const Part& part : parts_)
      bytes.append(reinterpret_cast<const char*>(part.from), part.inputs(comm_->ranks) * sizeof(float));
    return bytes;
  }

  bool receive(const std::vector<std::string>& all) {
    const std::string expected = header();
    const size_t bytes = all[static_cast<size_t>(comm_->rank)].size();
    for (const std::string& one : all) {
      if (one.size() == bytes && one.starts_with(expected)) continue;
      std::fprintf(stderr, "fake NCCL: the ranks run different collectives\n");
      comm_->failed = kInvalidUsage;
      return false;
    }
    size_t at = expected.size();
    for (const Part& part : parts_) {
      for (size_t i = 0; i < outputs(part); ++i) part.to[i] = output(part, all, at, i);
      at += part.inputs(comm_->ranks) * sizeof(float);
    }
    return true;
  }

  size_t outputs(const Part& part) const {
    return part.collective == Collective::kAllGather ? part.count * static_cast<size_t>(comm_->ranks) : part.count;
  }

  float output(const Part& part, const std::vector<std::string>& all, size_t begin, size_t index) const {
    const auto element = [&](size_t rank, size_t i) {
      float value = 0;
      std::memcpy(&value, all[rank].data() + begin + i * sizeof(float), sizeof(float));
      return value;
    };
    if (part.collective == Collective::kAllGather) return element(index / part.count, index % part.count);
    const auto ranks = static_cast<size_t>(comm_->ranks);
    const bool is_scatter = part.collective == Collective::kReduceScatter;
    const size_t input = is_scatter ? static_cast<size_t>(comm_->rank) * part.count + index : index;
    const size_t owner = input * ranks / part.inputs(comm_->ranks);  // the last rank of the ring, which owns the chunk
    float sum = element((owner + 1) % ranks, input);
    for (size_t step = 2; step <= ranks; ++step) sum += element((owner + step) % ranks, input);
    return sum;
  }

  NcclComm comm_;
  std::vector<Part> parts_;
  std::shared_ptr<char> in_graph_;
  bool is_published_ = false;
  std::pair<NcclStatus, long> planned_{};
};

NcclStatus launch(OpenGroup& group) {
  const std::lock_guard lock(laptime::test::card().mutex);
  const bool is_captured = group.stream->capture != nullptr;
  group.stream->enqueue_polled(Launched(group.comm, std::exchange(group.parts, {}), is_captured));
  return kNcclSuccess;
}

// Like NCCL, waits until all graphs with launches of the communicator are destroyed. Meanwhile, streams run.
void wait_for_graphs(const NcclCommObject& comm) {
  while (comm.in_graphs.use_count() > 1) {
    usleep(200);
    const std::lock_guard lock(laptime::test::card().mutex);
    laptime::test::run_streams_except(nullptr);
  }
}

NcclStatus add(const Part& part, NcclComm comm, StreamHandle stream) {
  if (comm == nullptr || comm->is_aborted || part.from == nullptr || part.to == nullptr)
    return fail(kInvalidArgument, "an argument is null");
  OpenGroup& group = open_group();
  group.parts.push_back(part);
  group.comm = comm;
  group.stream = stream;
  return group.depth > 0 ? kNcclSuccess : launch(group);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names of libnccl
extern "C" {

NcclStatus ncclGetVersion(int* version) { return *version = 22703, kNcclSuccess; }
const char* ncclGetErrorString(NcclStatus status) {
  switch (status) {
    case kSystemError: return "unhandled system error";
    case kInvalidArgument: return "invalid argument";
    case kInvalidUsage: return "invalid usage";
    case 6: return "remote process exited or there was a network error";
    default: return "internal error";
  }
}
const char* ncclGetLastError(NcclComm) { return last_error().c_str(); }
NcclStatus ncclGetUniqueId(NcclUniqueId* id) {
  const std::string folder = std::filesystem::temp_directory_path() / "laptime_fake_nccl.XXXXXX";
  if (folder.size() >= sizeof(id->bytes)) return fail(kSystemError, "the name of the temporary folder is too long");
  std::strcpy(id->bytes, folder.c_str());
  return mkdtemp(id->bytes) == nullptr ? fail(kSystemError, "no temporary folder") : kNcclSuccess;
}
NcclStatus ncclCommInitRank(NcclComm* comm, int ranks, NcclUniqueId id, int rank) {
  *comm = new_comm({.folder = id.bytes, .rank = rank, .ranks = ranks});
  std::vector<std::string> cards = meet(**comm, "card", std::to_string(laptime::test::current_card()));
  std::ranges::sort(cards);
  if (std::ranges::adjacent_find(cards) == cards.end()) return kNcclSuccess;
  leave(**comm);
  return fail(kInvalidUsage, "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 0");
}
NcclStatus ncclCommDestroy(NcclComm comm) {
  wait_for_graphs(*comm);
  meet(*comm, "end", {});
  leave(*comm);
  return kNcclSuccess;
}
NcclStatus ncclCommAbort(NcclComm comm) {
  if (comm == nullptr) return kNcclSuccess;
  {
    const std::lock_guard lock(laptime::test::card().mutex);
    comm->is_aborted = true;
  }
  wait_for_graphs(*comm);
  std::error_code still_used;  // ignored: another rank may still use the folder
  if (comm->rank == 0) std::filesystem::remove_all(comm->folder, still_used);
  return kNcclSuccess;
}
NcclStatus ncclCommGetAsyncError(NcclComm comm, NcclStatus* status) {
  if (comm == nullptr) return kInvalidArgument;
  return *status = comm->failed, kNcclSuccess;
}
NcclStatus ncclGroupStart() { return ++open_group().depth, kNcclSuccess; }
NcclStatus ncclGroupEnd() {
  OpenGroup& group = open_group();
  if (group.depth == 0) return kInvalidUsage;
  return --group.depth > 0 || group.parts.empty() ? kNcclSuccess : launch(group);
}
NcclStatus ncclAllReduce(const void* from, void* to, size_t count, int type, int op, NcclComm comm,
                         StreamHandle stream) {
  if (type != kNcclFloat32 || op != kNcclSum) return kInvalidArgument;
  return add({Collective::kAllReduce, static_cast<const float*>(from), static_cast<float*>(to), count}, comm, stream);
}
NcclStatus ncclReduceScatter(const void* from, void* to, size_t count, int type, int op, NcclComm comm,
                             StreamHandle stream) {
  if (type != kNcclFloat32 || op != kNcclSum) return kInvalidArgument;
  return add({Collective::kReduceScatter, static_cast<const float*>(from), static_cast<float*>(to), count}, comm,
             stream);
}
NcclStatus ncclAllGather(const void* from, void* to, size_t count, int type, NcclComm comm, StreamHandle stream) {
  if (type != kNcclFloat32) return kInvalidArgument;
  return add({Collective::kAllGather, static_cast<const float*>(from), static_cast<float*>(to), count}, comm, stream);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
