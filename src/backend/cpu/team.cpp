// The worker loop: wait for a run, take indices until none is left, report back.
#include "backend/cpu/team.h"

namespace laptime::cpu {
namespace {

// About 20 us of polling before a thread goes to sleep: longer than the gap between two kernels of a step, short enough
// that a machine shared with other work loses nothing.
constexpr int kSpins = 2000;

void pause() { __builtin_ia32_pause(); }

}  // namespace

Team::Team(int threads) {
  LAPTIME_CHECK(threads >= 1, "{} threads", threads);
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(0); });
}

Team::~Team() {
  stopping_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::drain() {
  for (;;) {
    const int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= count_) return;
    task_(context_, index);
  }
}

void Team::run(int64_t count, Task task, const void* context) {
  task_ = task;
  context_ = context;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  running_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  drain();
  int spins = 0;
  for (int left = running_.load(std::memory_order_acquire); left != 0; left = running_.load(std::memory_order_acquire)) {
    if (++spins < kSpins) {
      pause();
    } else {
      running_.wait(left, std::memory_order_acquire);
    }
  }
}

void Team::work(uint64_t seen) {
  for (;;) {
    int spins = 0;
    while (generation_.load(std::memory_order_acquire) == seen) {
      if (++spins < kSpins) {
        pause();
      } else {
        generation_.wait(seen, std::memory_order_acquire);
      }
    }
    ++seen;
    if (stopping_.load(std::memory_order_relaxed)) return;
    drain();
    if (running_.fetch_sub(1, std::memory_order_release) == 1) running_.notify_one();
  }
}

}  // namespace laptime::cpu
