// Greedy placement of buffers, largest first.
#include "plan/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "plan/occupied_bytes.h"

namespace laptime {
namespace {

// The step after the last one in which any buffer is alive.
int end_of(std::span<const LiveBytes> intervals) {
  int end = 0;
  for (const LiveBytes& interval : intervals) end = std::max(end, interval.last + 1);
  return end;
}

void find_peak(std::span<const LiveBytes> intervals, MemoryPlan& plan) {
  std::vector<int64_t> change(static_cast<size_t>(end_of(intervals)) + 1, 0);
  for (const LiveBytes& interval : intervals) {
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

MemoryPlan place(std::span<const LiveBytes> intervals) {
  MemoryPlan plan;
  plan.offsets.resize(intervals.size(), 0);
  find_peak(intervals, plan);

  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });

  OccupiedBytes occupied(end_of(intervals));
  for (const size_t index : order) {
    const LiveBytes& interval = intervals[index];
    const int64_t bytes = align_up(interval.bytes, kBufferAlignment);
    const int64_t offset = occupied.first_gap(interval.first, interval.last, bytes);
    occupied.take(interval.first, interval.last, offset, bytes);
    plan.offsets[index] = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, (Size(offset) + bytes).value());
  }
  return plan;
}

}  // namespace laptime
