// Greedy placement of buffers, largest first.
#include "plan/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace laptime {
namespace {

void find_peak(std::span<const Interval> intervals, MemoryPlan& plan) {
  int end = 0;
  for (const Interval& interval : intervals) end = std::max(end, interval.last + 1);
  std::vector<int64_t> change(static_cast<size_t>(end) + 1, 0);
  for (const Interval& interval : intervals) {
    change[static_cast<size_t>(interval.first)] += interval.bytes;
    change[static_cast<size_t>(interval.last) + 1] -= interval.bytes;
  }
  Size alive = 0;
  for (size_t i = 0; i < change.size(); ++i) {
    alive += change[i];
    if (alive.value() > plan.live_peak_bytes) {
      plan.live_peak_bytes = alive.value();
      plan.peak_at = static_cast<int>(i);
    }
  }
}

}  // namespace

MemoryPlan place(std::span<const Interval> intervals) {
  MemoryPlan plan;
  plan.offsets.resize(intervals.size(), 0);
  find_peak(intervals, plan);

  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });

  // Placed intervals in order of offset. A new one takes the first gap between those alive at the same time.
  std::vector<size_t> placed;
  for (const size_t index : order) {
    const Interval& interval = intervals[index];
    const int64_t bytes = align_up(interval.bytes, kBufferAlignment);
    int64_t offset = 0;
    for (const size_t other : placed) {
      const Interval& neighbour = intervals[other];
      if (neighbour.last < interval.first || interval.last < neighbour.first) continue;
      if (plan.offsets[other] >= offset + bytes) break;  // the gap below this neighbour is large enough
      offset = std::max(offset, plan.offsets[other] + align_up(neighbour.bytes, kBufferAlignment));
    }
    plan.offsets[index] = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, (Size(offset) + bytes).value());
    const auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                                     [&](int64_t value, size_t other) { return value < plan.offsets[other]; });
    placed.insert(at, index);
  }
  return plan;
}

}  // namespace laptime
