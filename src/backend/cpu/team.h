// Team: the threads of a CPU step. They spin briefly between kernels, then sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

#include "backend/kernel.h"

namespace laptime::cpu {

// Runs ranges of work on a fixed number of threads, the caller among them. Which thread runs which index never changes
// a result: kernels cut their work by shape, not by thread count.
class Team : public Queue {
 public:
  explicit Team(int threads);
  ~Team() override;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // body(index) for every index of [0, count), indices handed out one at a time.
  template <class Body>
  void parallel_for(int64_t count, const Body& body) {
    if (count <= 0) return;
    if (workers_.empty() || count == 1) {
      for (int64_t i = 0; i < count; ++i) body(i);
      return;
    }
    run(count, [](const void* context, int64_t index) { (*static_cast<const Body*>(context))(index); }, &body);
  }

  // body(begin, end) over [0, count) in blocks of `grain`: for work whose cost per item is small.
  template <class Body>
  void parallel_blocks(int64_t count, int64_t grain, const Body& body) {
    const int64_t blocks = (count + grain - 1) / grain;
    parallel_for(blocks, [&](int64_t block) { body(block * grain, block * grain + grain < count ? block * grain + grain : count); });
  }

 private:
  using Task = void (*)(const void* context, int64_t index);
  void run(int64_t count, Task task, const void* context);
  void work(uint64_t seen);
  void drain();

  std::vector<std::thread> workers_;
  Task task_ = nullptr;
  const void* context_ = nullptr;
  int64_t count_ = 0;
  alignas(64) std::atomic<uint64_t> generation_{0};  // one more for each run; the last bit of work published
  alignas(64) std::atomic<int64_t> next_{0};
  alignas(64) std::atomic<int> running_{0};  // workers that have not finished the current run
  std::atomic<bool> stopping_{false};
};

// The team of a launch on the CPU.
inline Team& team_of(const KernelCall& call) { return static_cast<Team&>(call.queue); }

}  // namespace laptime::cpu
