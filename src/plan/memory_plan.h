// Places buffers in one arena, in which only buffers with disjoint live ranges share bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace laptime {

inline constexpr int64_t kBufferAlignment = 64;

// A buffer that is alive from step `first` to step `last`, inclusive.
struct LiveBytes {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // one per interval, aligned to kBufferAlignment
  int64_t arena_bytes = 0;
  int64_t live_peak_bytes = 0;  // peak bytes alive at one step
  int peak_at = 0;              // the first step with the peak
};

// Greedy by size: processes the intervals from largest to smallest, and gives each the lowest offset that is free
// during its live range (Pisarchyk and Lee 2020).
MemoryPlan place(std::span<const LiveBytes> intervals);

}  // namespace laptime
