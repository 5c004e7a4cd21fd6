// Team: the threads that run kernels. They spin briefly between kernels, then sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

#include "backend/cpu/index_ranges.h"
#include "backend/cpu/memory.h"
#include "backend/kernel.h"
#include "backend/launch_loop.h"
#include "base/checked.h"

namespace laptime::cpu {

// Runs loops on a fixed number of threads, including the calling thread. Kernels divide their work by shape, not by the
// number of threads, so that results do not depend on that number. Only one thread may start loops, and loops must not
// be nested.
class Team : public Queue {
 public:
  // Scratch bytes per thread: one huge page, which can contain a packed block of a GEMM.
  static constexpr int64_t kScratchBytes = int64_t{2} << 20;

  // Throws OutOfMemory or, if the system allows no more threads, Error.
  explicit Team(int threads);
  // Creates a team of `threads` threads that runs no loops. Instead, it adds the units and the work of each loop to
  // `loops`. It has no scratch.
  Team(int threads, std::vector<LaunchLoop>& loops);
  ~Team() override;

  int size() const { return static_cast<int>(scratch_.size()); }

  // Calls body(index) or body(index, thread) for every index of [0, count). Indices are assigned one at a time, in
  // order. `thread` in [0, size()) is the thread that runs the index, 0 for the caller; use it to find scratch, never
  // to divide work. A kernel with several loops must pass `work` for each of them.
  template <class Body>
  void parallel_for(int64_t count, const Body& body, const LoopWork& work = {}) {
    loop(count, 1, body, work);
  }

  // For loops over memory: each thread starts with its own range of indices, and steals work when its range is done.
  // All loops with the same count have the same ranges, so data written by one loop is in the cache of the core that
  // reads it in the next, even if cores share no cache.
  template <class Body>
  void parallel_ranges(int64_t count, const Body& body, const LoopWork& work = {}) {
    loop(count, size(), body, work);
  }

  // Calls body(begin, end) for blocks of `grain` items of [0, count); the last block may be smaller. For items that are
  // too small to assign one by one. Each thread starts with its own range of blocks.
  template <class Body>
  void parallel_blocks(int64_t count, int64_t grain, const Body& body, const LoopWork& work = {}) {
    const int64_t blocks = ceil_div(count, grain);
    parallel_ranges(
        blocks,
        [&](int64_t block) { body(block * grain, block * grain + grain < count ? block * grain + grain : count); },
        work);
  }

  // Calls body(thread) on up to `threads` threads, which divide `units` units of work among themselves. May call body
  // again on a thread whose first call has returned.
  template <class Body>
  void share(int64_t threads, int64_t units, const Body& body, const LoopWork& work) {
    if (loops_ != nullptr) return add_loop(units, work);
    parallel_for(threads < size() ? threads : size(), [&](int64_t, int thread) { body(thread); });
  }

  // Calls body(thread) exactly once on every thread, for set-up. Unlike parallel_for it waits until every thread is
  // awake.
  template <class Body>
  void on_each_thread(const Body& body) {
    std::atomic<int> arrived{0};
    parallel_for(size(), [&](int64_t, int thread) {
      body(thread);
      arrived.fetch_add(1, std::memory_order_relaxed);
      while (arrived.load(std::memory_order_relaxed) < size()) std::this_thread::yield();
    });
  }

  // kScratchBytes bytes for one thread, aligned to 64 bytes. Not cleared between kernels. Use it only inside a loop.
  std::byte* scratch(int thread) { return scratch_[static_cast<size_t>(thread)].data(); }

 private:
  Team(int threads, int64_t scratch_bytes, std::vector<LaunchLoop>* loops);

  using Task = void (*)(const void* context, int64_t index, int thread);

  template <class Body>
  static void invoke(const Body& body, int64_t index, int thread) {
    if constexpr (std::is_invocable_v<const Body&, int64_t, int>) {
      body(index, thread);
    } else {
      body(index);
    }
  }

  template <class Body>
  void loop(int64_t count, int ranges, const Body& body, const LoopWork& work) {
    if (count <= 0) return;
    if (loops_ != nullptr) return add_loop(count, work);
    if (workers_.empty() || count == 1) {
      for (int64_t i = 0; i < count; ++i) invoke(body, i, 0);
      return;
    }
    run(
        count, ranges,
        [](const void* context, int64_t index, int thread) {
          invoke(*static_cast<const Body*>(context), index, thread);
        },
        &body);
  }

  void add_loop(int64_t units, const LoopWork& work) { loops_->push_back({units, work}); }
  void run(int64_t count, int ranges, Task task, const void* context);
  void work(int thread);
  void drain(int thread);

  std::vector<Pages> scratch_;  // one for each thread
  std::vector<LaunchLoop>* loops_;
  Task task_ = nullptr;
  const void* context_ = nullptr;
  IndexRanges indices_;  // the indices of the current run
  // State of the current run: its number, whether workers may still join, and how many have joined.
  alignas(64) std::atomic<uint32_t> state_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

// The team that runs a kernel call on the CPU.
inline Team& team_of(const KernelCall& call) { return static_cast<Team&>(call.queue); }

}  // namespace laptime::cpu
