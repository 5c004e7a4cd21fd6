// Team: the threads of a CPU step. They spin briefly between kernels, then sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "backend/cpu/memory.h"
#include "backend/kernel.h"

namespace laptime::cpu {

// Runs ranges of work on a fixed number of threads, the caller among them. Which thread runs which index never changes
// a result: kernels cut their work by shape, not by thread count. One caller at a time; no parallel_for within another.
class Team : public Queue {
 public:
  // Scratch of one thread: what a block of a matrix product packs. A huge page.
  static constexpr int64_t kScratchBytes = int64_t{2} << 20;

  explicit Team(int threads);
  ~Team() override;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // body(index) or body(index, lane) for every index of [0, count), indices handed out one at a time. `lane` is the
  // thread that runs it, in [0, size()), the caller's being 0: good for finding scratch, never for cutting work.
  template <class Body>
  void parallel_for(int64_t count, const Body& body) {
    if (count <= 0) return;
    if (workers_.empty() || count == 1) {
      for (int64_t i = 0; i < count; ++i) invoke(body, i, 0);
      return;
    }
    run(
        count,
        [](const void* context, int64_t index, int lane) { invoke(*static_cast<const Body*>(context), index, lane); },
        &body);
  }

  // body(begin, end) over [0, count) in blocks of `grain`: for work whose cost per item is small.
  template <class Body>
  void parallel_blocks(int64_t count, int64_t grain, const Body& body) {
    const int64_t blocks = (count + grain - 1) / grain;
    parallel_for(blocks, [&](int64_t block) {
      body(block * grain, block * grain + grain < count ? block * grain + grain : count);
    });
  }

  // body(lane) once on each lane, all at the same time: for what a thread must have done before the first step. Waits
  // for every thread to wake, unlike the others.
  template <class Body>
  void on_each_lane(const Body& body) {
    std::atomic<int> arrived{0};
    parallel_for(size(), [&](int64_t, int lane) {
      body(lane);
      arrived.fetch_add(1, std::memory_order_relaxed);
      while (arrived.load(std::memory_order_relaxed) < size()) std::this_thread::yield();
    });
  }

  // kScratchBytes that only this lane uses, aligned to 64; left as the last kernel left them.
  std::byte* scratch(int lane) { return scratch_[static_cast<size_t>(lane)].data(); }

  // An object that lives as long as the team, made from it when first asked for: what a library wants kept between
  // launches. Only for the thread that launches.
  template <class T>
  T& resident() {
    std::shared_ptr<void>& slot = residents_[&kTypeOf<T>];
    if (slot == nullptr) slot = std::make_shared<T>(*this);
    return *static_cast<T*>(slot.get());
  }

 private:
  using Task = void (*)(const void* context, int64_t index, int lane);
  template <class T>
  static constexpr char kTypeOf = 0;  // its address is the type's key

  template <class Body>
  static void invoke(const Body& body, int64_t index, int lane) {
    if constexpr (std::is_invocable_v<const Body&, int64_t, int>) {
      body(index, lane);
    } else {
      body(index);
    }
  }

  void run(int64_t count, Task task, const void* context);
  void work(int lane);
  void drain(int lane);

  std::vector<Pages> scratch_;
  std::unordered_map<const void*, std::shared_ptr<void>> residents_;
  Task task_ = nullptr;
  const void* context_ = nullptr;
  int64_t count_ = 0;
  // The run: its number, whether it may still be joined, how many workers have joined and not left.
  alignas(64) std::atomic<uint32_t> state_{0};
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<int64_t> next_{0};
  std::vector<std::thread> workers_;
};

// The team of a launch on the CPU.
inline Team& team_of(const KernelCall& call) { return static_cast<Team&>(call.queue); }

}  // namespace laptime::cpu
