// Implements parallel runs. The caller opens a run, workers that are awake join it, and all take indices until none are
// left, starting with their own ranges. Then the caller closes the run and waits only for workers that have joined, so
// a worker that wakes up late delays no one.
#include "backend/cpu/team.h"

#include <fmt/format.h>
#include <x86intrin.h>

#include <cstring>
#include <system_error>

#include "base/available_memory.h"
#include "base/error.h"
#include "base/units.h"

namespace laptime::cpu {
namespace {

// How long a thread polls before it sleeps, in ticks of the time stamp counter. This is 30 to 50 us: longer than the
// gap between two kernels of a step, but too short to disturb other work on the machine.
constexpr uint64_t kSpinTicks = 100'000;

// The bit fields of Team::state_: number of joined workers, whether the run is open, and the number of the run.
constexpr uint32_t kJoinedMask = 0xFFFF;
constexpr uint32_t kOpenBit = 0x10000;
constexpr uint32_t kOneRun = 0x20000;

uint32_t run_of(uint32_t state) { return state & ~(kJoinedMask | kOpenBit); }

// Tells a polling thread when to sleep.
class SpinTimer {
 public:
  // Pauses briefly. Returns false if the thread should now sleep.
  bool spin() {
    _mm_pause();
    const uint64_t now = __rdtsc();
    if (since_ == 0) since_ = now;
    return now - since_ < kSpinTicks;
  }

 private:
  uint64_t since_ = 0;
};

// The system reports the same error if memory is short and if it allows no more threads. The available memory tells the
// two cases apart.
[[noreturn]] void throw_cannot_start(int threads) {
  const AvailableMemory available = available_memory();
  if (!available.holds(thread_bytes()))
    throw OutOfMemory(thread_bytes(), available.bytes,
                      fmt::format("cannot start {} threads: one more thread needs {} of stack and heap, {}; "
                                  "lower --threads",
                                  threads, format_bytes(thread_bytes()), available.text()));
  throw Error::format(
      "cannot start {} threads: the system allows no more; lower --threads, or raise the limit on processes "
      "(ulimit -u, pids.max of the control group)",
      threads);
}

}  // namespace

Team::Team(int threads, int64_t scratch_bytes, std::vector<LaunchLoop>* loops) : loops_(loops), indices_(threads) {
  LAPTIME_CHECK(threads >= 1 && threads < static_cast<int>(kJoinedMask), "cannot create a team of {} threads", threads);
  for (int thread = 0; thread < threads; ++thread) scratch_.emplace_back(scratch_bytes);
}

// Delegates to the other constructor first, so that if a worker cannot start, the destructor runs and stops the workers
// that have started.
Team::Team(int threads) : Team(threads, kScratchBytes, nullptr) {
  for (const Pages& scratch : scratch_) std::memset(scratch.data(), 0, static_cast<size_t>(kScratchBytes));
  try {
    for (int thread = 1; thread < threads; ++thread) workers_.emplace_back([this, thread] { work(thread); });
  } catch (const std::system_error&) {
    throw_cannot_start(threads);
  }
}

Team::Team(int threads, std::vector<LaunchLoop>& loops) : Team(threads, 0, &loops) {}

Team::~Team() {
  stopping_.store(true, std::memory_order_relaxed);
  state_.fetch_add(kOneRun, std::memory_order_release);
  state_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::drain(int thread) {
  IndexRanges::Taker taker(indices_, thread);
  while (const std::optional<int64_t> index = taker.next()) task_(context_, *index, thread);
}

void Team::run(int64_t count, int ranges, Task task, const void* context) {
  const uint32_t before = state_.load(std::memory_order_relaxed);
  LAPTIME_CHECK((before & (kOpenBit | kJoinedMask)) == 0, "parallel_for calls must not be nested");
  task_ = task;
  context_ = context;
  indices_.divide(count, ranges);
  state_.store((run_of(before) + kOneRun) | kOpenBit, std::memory_order_release);
  state_.notify_all();
  drain(0);
  uint32_t state = state_.fetch_and(~kOpenBit, std::memory_order_acq_rel) & ~kOpenBit;
  SpinTimer spin_timer;
  while ((state & kJoinedMask) != 0) {
    if (!spin_timer.spin()) state_.wait(state, std::memory_order_acquire);
    state = state_.load(std::memory_order_acquire);
  }
}

void Team::work(int thread) {
  uint32_t last = 0;  // the last run that this thread joined
  uint32_t seen = 0;  // the last run that this thread saw
  SpinTimer spin_timer;
  for (;;) {
    uint32_t state = state_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    if (run_of(state) != seen) {  // spin even after a missed run, because more runs are likely to follow
      seen = run_of(state);
      spin_timer = SpinTimer();
    }
    if ((state & kOpenBit) != 0 && run_of(state) != last) {
      if (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) continue;
      last = run_of(state);
      drain(thread);
      const uint32_t left = state_.fetch_sub(1, std::memory_order_acq_rel) - 1;
      if ((left & (kOpenBit | kJoinedMask)) == 0) state_.notify_all();
      spin_timer = SpinTimer();
    } else if (!spin_timer.spin()) {
      state_.wait(state, std::memory_order_acquire);
    }
  }
}

}  // namespace laptime::cpu
