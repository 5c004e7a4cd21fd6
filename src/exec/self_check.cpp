// Loops that the compiler cannot shorten, timed with the clock that times steps.
#include "exec/self_check.h"

#include <algorithm>
#include <vector>

#include "base/host_clock.h"
#include "distribution/median.h"
#include "exec/executor.h"

namespace laptime {
namespace {

constexpr Seconds kLoop{1e-3};
constexpr int64_t kLoops = 1000;
constexpr int64_t kLongLoops = 100;

// Each round depends on the result of the previous one.
Seconds time_of_rounds(int64_t rounds) {
  const Seconds begin = host_now();
  uint64_t value = 1;
  for (int64_t i = 0; i < rounds; ++i) {
    value += value >> 3U;
    asm volatile("" : "+r"(value));  // NOLINT(hicpp-no-assembler): prevents the compiler from removing rounds
  }
  return host_now() - begin;
}

// The number of rounds that take `wanted` at the fastest rate observed.
int64_t rounds_of(Seconds wanted) {
  constexpr int64_t kProbe = 100'000;
  Seconds fastest = time_of_rounds(kProbe);
  for (int i = 0; i < 20; ++i) fastest = std::min(fastest, time_of_rounds(kProbe));
  return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(kProbe) * (wanted / fastest)));
}

std::vector<double> times_of_loops(int64_t loops, int64_t rounds) {
  std::vector<double> times;
  times.reserve(static_cast<size_t>(loops));
  for (int64_t i = 0; i < loops; ++i) times.push_back(time_of_rounds(rounds).count());
  return times;
}

}  // namespace

Seconds time_of_empty_step(Backend& backend) {
  constexpr int kSteps = 1000;
  Executor executor(Plan{}, backend);
  std::vector<double> times;
  times.reserve(kSteps);
  for (int i = 0; i < kSteps; ++i) times.push_back(executor.run().total().count());
  return Seconds{median(times)};
}

BusyLoops time_busy_loops() {
  const int64_t rounds = rounds_of(kLoop);
  std::vector<double> times = times_of_loops(kLoops, rounds);
  const double longer = median(times_of_loops(kLongLoops, 10 * rounds));
  std::sort(times.begin(), times.end());
  const double middle = median_of_sorted(times);
  double lost = 0;
  double all = 0;
  for (const double time : times) {
    lost += std::max(0.0, time - middle);
    all += time;
  }
  return {.loops = kLoops,
          .fastest = Seconds{times.front()},
          .median = Seconds{middle},
          .slowest_tenth = Seconds{percentile_of_sorted(times, 0.9)},
          .lost = lost / all,
          .tenfold = longer / middle};
}

}  // namespace laptime
