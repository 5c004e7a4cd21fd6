// Bounds a launch's speed-up by the number of units and by the largest unit.
#include "backend/launch_loop.h"

#include <algorithm>

#include "base/checked.h"

namespace laptime {
namespace {

// A loop without stated work is the only loop of its kernel, so its weight does not matter.
double work_of(const LaunchLoop& loop) { return loop.work.flops > 0 ? loop.work.flops : 1; }

double total_work(std::span<const LaunchLoop> loops) {
  double total = 0;
  for (const LaunchLoop& loop : loops) total += work_of(loop);
  return total;
}

double largest_share(const LaunchLoop& loop) {
  return std::min(1.0, loop.work.largest / static_cast<double>(loop.units));
}

// The time of a loop on `threads` threads relative to its time on one thread. If all units are equal, the loop takes a
// whole number of rounds of one unit per thread.
double relative_time(const LaunchLoop& loop, int threads) {
  const bool are_equal = loop.work.largest == 1;
  const double rounds =
      are_equal ? static_cast<double>(ceil_div(loop.units, threads)) / static_cast<double>(loop.units) : 1.0 / threads;
  return std::max(rounds, largest_share(loop));
}

}  // namespace

double largest_unit_share(std::span<const LaunchLoop> loops) {
  if (loops.empty()) return 1;
  double largest = 0;
  for (const LaunchLoop& loop : loops) largest = std::max(largest, largest_share(loop) * work_of(loop));
  return largest / total_work(loops);
}

double speed_up_bound(std::span<const LaunchLoop> loops, int threads) {
  if (loops.empty()) return 1;
  double time = 0;
  for (const LaunchLoop& loop : loops) time += relative_time(loop, threads) * work_of(loop);
  return total_work(loops) / time;
}

}  // namespace laptime
