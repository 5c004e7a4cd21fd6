// The state that the parts of the fake driver share in one process: GPUs, streams and graphs. Work stays in its stream
// until the program waits for the stream.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/driver.h"
#include "support/cuda/host_grid.h"

namespace laptime::cuda {

struct ContextObject {};
struct FunctionObject {
  const test::HostKernel* kernel = nullptr;
};

// A piece of work. If it must wait for another stream or process, it returns false and must be called again.
using FakeWork = std::function<bool()>;

struct GraphNode {
  FakeWork work;
  std::set<size_t> after;  // earlier nodes that must be done first
};
struct GraphObject {
  std::vector<GraphNode> nodes;  // in call order, which satisfies every dependency
  StreamObject* origin = nullptr;
  std::set<StreamObject*> joined;  // all captured streams except `origin`
};
struct GraphExecObject {
  std::vector<GraphNode> nodes;
};
struct StreamObject {
  std::deque<FakeWork> work;
  GraphObject* capture = nullptr;  // the graph that records the work; null if the stream executes it
  std::set<size_t> after;          // nodes of that graph that must be done before the stream's next node
  int card = 0;

  void enqueue_polled(FakeWork item);
  void enqueue(std::function<void()> item) {
    enqueue_polled([item = std::move(item)] { return item(), true; });
  }
};

}  // namespace laptime::cuda

namespace laptime::test {

constexpr cuda::Status kInvalidValue = 1;
constexpr cuda::Status kNotInitialized = 3;
constexpr cuda::Status kNotFound = 500;
constexpr cuda::Status kLaunchFailed = 719;
constexpr cuda::Status kCaptureUnsupported = 900;

// LAPTIME_FAKE_CUDA_FAIL=STATUS@LAUNCH: launch number LAUNCH, counted from 1 in each process, fails with STATUS when it
// is executed.
struct PlannedFailure {
  cuda::Status status = cuda::kSuccess;
  long launch = 0;

  PlannedFailure();
};

// The state of the driver in one process, for all GPUs.
struct FakeCard {
  static constexpr int kMostCards = 8;

  std::mutex mutex;
  pid_t owner = 0;  // the process that called cuInit; no other process may use the driver
  std::array<cuda::ContextObject, kMostCards> contexts;  // one for each GPU
  std::map<cuda::DeviceAddress, size_t> memory;          // address -> bytes
  size_t held = 0;
  std::map<std::string, cuda::FunctionObject> functions;
  cuda::Status failed = cuda::kSuccess;  // the first error, which persists, as on a real GPU
  PlannedFailure planned;
  long launches = 0;
};

FakeCard& card();
// The number of the GPU whose context is current in this thread.
int& current_card();
constexpr size_t kMemoryBytes = size_t{4} << 30;
// The bytes of GPU memory that are not allocated. LAPTIME_FAKE_CUDA_TAKEN: bytes that other programs use.
size_t free_bytes();

// Runs the first piece of work of a stream, and removes the piece when done. Returns false if the piece must be called
// again. After a failure of the GPU, removes the piece without running it. The stream must have work.
bool advance(cuda::StreamObject& stream);
// Runs the work of all streams except `last` as far as possible.
void run_streams_except(const cuda::StreamObject* last);
// run_card() runs all work of the current GPU, and run() runs all work of one stream. Both functions unlock the mutex
// while they wait for other ranks. run() returns the first error of the GPU.
void run_card(std::unique_lock<std::mutex>& lock);
cuda::Status run(cuda::StreamObject& stream, std::unique_lock<std::mutex>& lock);

}  // namespace laptime::test
