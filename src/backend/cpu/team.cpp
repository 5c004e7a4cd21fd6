// The life of a run: the caller opens it, workers that are awake join, all take indices until none is left, the caller
// closes it and waits for those that joined. A worker that wakes too late, its core being busy with other work, delays
// nobody.
#include "backend/cpu/team.h"

#include <x86intrin.h>

#include <cstring>

namespace laptime::cpu {
namespace {

// Polling time in clock ticks before a thread goes to sleep, 30 to 50 us: longer than the gap between two kernels of a
// step, short enough that a machine shared with other work loses nothing.
constexpr uint64_t kSpinTicks = 100'000;

// state_: bits 0-15 workers in the run, bit 16 open, the rest the number of the run.
constexpr uint32_t kJoined = 0xFFFF;
constexpr uint32_t kOpen = 0x10000;
constexpr uint32_t kOneRun = 0x20000;

uint32_t number_of(uint32_t state) { return state & ~(kJoined | kOpen); }

class Patience {
 public:
  // False once the time to spin is over.
  bool spin() {
    _mm_pause();
    const uint64_t now = __rdtsc();
    if (since_ == 0) since_ = now;
    return now - since_ < kSpinTicks;
  }

 private:
  uint64_t since_ = 0;
};

}  // namespace

Team::Team(int threads) {
  LAPTIME_CHECK(threads >= 1 && threads < static_cast<int>(kJoined), "{} threads", threads);
  for (int lane = 0; lane < threads; ++lane) {
    scratch_.emplace_back(kScratchBytes);
    std::memset(scratch_.back().data(), 0, static_cast<size_t>(kScratchBytes));
  }
  for (int lane = 1; lane < threads; ++lane) workers_.emplace_back([this, lane] { work(lane); });
}

Team::~Team() {
  stopping_.store(true, std::memory_order_relaxed);
  state_.fetch_add(kOneRun, std::memory_order_release);
  state_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::drain(int lane) {
  for (;;) {
    const int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= count_) return;
    task_(context_, index, lane);
  }
}

void Team::run(int64_t count, Task task, const void* context) {
  const uint32_t before = state_.load(std::memory_order_relaxed);
  LAPTIME_CHECK((before & (kOpen | kJoined)) == 0, "a parallel_for within another");
  task_ = task;
  context_ = context;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  state_.store((number_of(before) + kOneRun) | kOpen, std::memory_order_release);
  state_.notify_all();
  drain(0);
  uint32_t state = state_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  Patience patience;
  while ((state & kJoined) != 0) {
    if (!patience.spin()) state_.wait(state, std::memory_order_acquire);
    state = state_.load(std::memory_order_acquire);
  }
}

void Team::work(int lane) {
  uint32_t last = 0;  // run taken part in
  uint32_t seen = 0;
  Patience patience;
  for (;;) {
    uint32_t state = state_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    if (number_of(state) != seen) {  // even a run that was missed says that more may follow
      seen = number_of(state);
      patience = Patience();
    }
    if ((state & kOpen) != 0 && number_of(state) != last) {
      if (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) continue;
      last = number_of(state);
      drain(lane);
      const uint32_t left = state_.fetch_sub(1, std::memory_order_acq_rel) - 1;
      if ((left & (kOpen | kJoined)) == 0) state_.notify_all();
      patience = Patience();
    } else if (!patience.spin()) {
      state_.wait(state, std::memory_order_acquire);
    }
  }
}

}  // namespace laptime::cpu
