// Sums and maxima over the threads of a block, in an order that depends only on the size of the block.
#pragma once

#include "backend/cuda/device_code.h"

namespace laptime::cuda {

// Number of threads in a block that processes one row: whole warps, at most 128 threads.
constexpr int row_threads(int64_t columns) {
  constexpr int64_t kMost = 128;
  return columns >= kMost ? kMost : static_cast<int>((columns + kWarp - 1) / kWarp * kWarp);
}

template <class T>
using WarpParts = SharedArray<T, kMaxBlock / kWarp>;  // one number per warp

// Combines the values of all threads with `join`, which must be commutative and, except for rounding, associative.
// Every thread gets the result. Ends with a barrier, so that `parts` can be reused.
template <class T, class Join>
LAPTIME_DEVICE T join_block(const Thread& thread, WarpParts<T>& parts, T value, const Join& join) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) value = join(value, thread.exchange(value, mask));
  if (thread.index() % kWarp == 0) thread.store(parts, thread.index() / kWarp, value);
  thread.synchronize();
  value = thread.load(parts, 0);
  for (int warp = 1; warp < thread.threads() / kWarp; ++warp) value = join(value, thread.load(parts, warp));
  thread.synchronize();
  return value;
}

template <class T>
LAPTIME_DEVICE T block_sum(const Thread& thread, WarpParts<T>& parts, T value) {
  return join_block(thread, parts, value, [](T a, T b) { return a + b; });
}

// The maximum of the values of all threads; NaN if any value is NaN.
template <class T>
LAPTIME_DEVICE T block_max(const Thread& thread, WarpParts<T>& parts, T value) {
  return join_block(thread, parts, value, [](T a, T b) { return a != a || a > b ? a : b; });
}

}  // namespace laptime::cuda
