// Offsets of buffers whose lives overlap in time, in one arena.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace laptime {

inline constexpr int64_t kBufferAlignment = 64;

// Alive from action `first` to action `last`, both included.
struct Interval {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // one for each interval, aligned
  int64_t arena_bytes = 0;
  int64_t live_peak_bytes = 0;  // most bytes alive at one action
  int peak_at = 0;              // the first action where they are
};

// Greedy by size: the largest interval first, each at the lowest offset where it meets no other one alive at the same
// time (Pisarchyk and Lee 2020).
MemoryPlan place(std::span<const Interval> intervals);

}  // namespace laptime
