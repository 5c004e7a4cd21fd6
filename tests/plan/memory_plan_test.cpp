// Offsets in the arena: overlapping live ranges never share a byte, and totals match hand-computed values.
#include "plan/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/random.h"

namespace laptime {
namespace {

bool overlap_in_time(const LiveBytes& a, const LiveBytes& b) { return a.first <= b.last && b.first <= a.last; }

void expect_sound(const std::vector<LiveBytes>& intervals, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), intervals.size());
  int64_t end = 0;
  for (size_t i = 0; i < intervals.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % kBufferAlignment, 0);
    EXPECT_GE(plan.offsets[i], 0);
    end = std::max(end, plan.offsets[i] + align_up(intervals[i].bytes, kBufferAlignment));
    for (size_t k = 0; k < i; ++k) {
      if (!overlap_in_time(intervals[i], intervals[k])) continue;
      const bool apart = plan.offsets[i] + intervals[i].bytes <= plan.offsets[k] ||
                         plan.offsets[k] + intervals[k].bytes <= plan.offsets[i];
      ASSERT_TRUE(apart) << i << " and " << k;
    }
  }
  EXPECT_EQ(plan.arena_bytes, end);
}

int64_t peak_by_hand(const std::vector<LiveBytes>& intervals, int& at) {
  int last = 0;
  for (const LiveBytes& interval : intervals) last = std::max(last, interval.last);
  int64_t peak = 0;
  at = 0;
  for (int time = 0; time <= last; ++time) {
    int64_t alive = 0;
    for (const LiveBytes& interval : intervals)
      alive += interval.first <= time && time <= interval.last ? interval.bytes : 0;
    if (alive > peak) {
      peak = alive;
      at = time;
    }
  }
  return peak;
}

// Places the intervals, largest first, each at the lowest offset where it overlaps none of the intervals already
// placed.
std::vector<int64_t> first_fit_by_hand(const std::vector<LiveBytes>& intervals) {
  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });
  std::vector<int64_t> offsets(intervals.size(), -1);
  const auto size = [&](size_t i) { return align_up(intervals[i].bytes, kBufferAlignment); };
  for (const size_t index : order) {
    int64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t other = 0; other < intervals.size(); ++other) {
        const bool placed = offsets[other] >= 0 && overlap_in_time(intervals[index], intervals[other]);
        if (!placed || offsets[other] + size(other) <= offset || offset + size(index) <= offsets[other]) continue;
        offset = offsets[other] + size(other);
        moved = true;
      }
    }
    offsets[index] = offset;
  }
  return offsets;
}

TEST(MemoryPlan, IsEmptyWithoutIntervals) {
  const MemoryPlan plan = place({});
  EXPECT_EQ(plan.arena_bytes, 0);
  EXPECT_EQ(plan.live_peak_bytes, 0);
}

TEST(MemoryPlan, DisjointLiveRangesShareBytes) {
  const std::vector<LiveBytes> intervals{{256, 0, 1}, {256, 2, 3}, {128, 4, 4}};
  const MemoryPlan plan = place(intervals);
  EXPECT_EQ(plan.offsets, (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(plan.arena_bytes, 256);
  EXPECT_EQ(plan.live_peak_bytes, 256);
  EXPECT_EQ(plan.peak_at, 0);
}

// Two ranges overlap if one ends in the step in which the other begins, because that step reads one buffer and writes
// the other.
TEST(MemoryPlan, TouchingLiveRangesDoNotShare) {
  const std::vector<LiveBytes> intervals{{64, 0, 1}, {64, 1, 2}};
  const MemoryPlan plan = place(intervals);
  EXPECT_NE(plan.offsets[0], plan.offsets[1]);
  EXPECT_EQ(plan.arena_bytes, 128);
  EXPECT_EQ(plan.live_peak_bytes, 128);
  EXPECT_EQ(plan.peak_at, 1);
}

TEST(MemoryPlan, FillsGaps) {
  // The large buffer is placed first; the two small ones are alive one after the other and share one offset.
  const std::vector<LiveBytes> intervals{{1024, 0, 9}, {128, 0, 3}, {128, 4, 9}, {64, 2, 5}};
  const MemoryPlan plan = place(intervals);
  expect_sound(intervals, plan);
  EXPECT_EQ(plan.offsets[1], plan.offsets[2]);
  EXPECT_EQ(plan.arena_bytes, 1024 + 128 + 64);
  EXPECT_EQ(plan.live_peak_bytes, 1024 + 128 + 64);
}

TEST(MemoryPlan, RoundsPlacedBytesButNotTheLivePeak) {
  const std::vector<LiveBytes> intervals{{1, 0, 0}, {65, 0, 0}};
  const MemoryPlan plan = place(intervals);
  expect_sound(intervals, plan);
  EXPECT_EQ(plan.live_peak_bytes, 66);
  EXPECT_EQ(plan.arena_bytes, 64 + 128);
}

TEST(MemoryPlan, OverlappingRandomLiveRangesNeverShareAByte) {
  for (uint64_t round = 0; round < 300; ++round) {
    uint64_t state = round * 1000;
    const auto below = [&](uint64_t bound) { return static_cast<int64_t>(splitmix64(++state) % bound); };
    std::vector<LiveBytes> intervals(static_cast<size_t>(1 + below(80)));
    for (LiveBytes& interval : intervals) {
      interval.bytes = below(4) == 0 ? below(16) : below(5000);
      interval.first = static_cast<int>(below(60));
      interval.last = interval.first + static_cast<int>(below(below(4) == 0 ? 60 : 6));
    }
    const MemoryPlan plan = place(intervals);
    expect_sound(intervals, plan);
    EXPECT_EQ(plan.offsets, first_fit_by_hand(intervals));
    int at = 0;
    const int64_t peak = peak_by_hand(intervals, at);
    EXPECT_EQ(plan.live_peak_bytes, peak);
    EXPECT_EQ(plan.peak_at, at);
    EXPECT_GE(plan.arena_bytes, peak);
  }
}

}  // namespace
}  // namespace laptime
