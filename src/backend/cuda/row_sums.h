// Rows in groups of eight columns, and block-wide sums of several numbers at once.
#pragma once

#include "backend/cuda/block_sums.h"
#include "backend/cuda/words.h"

namespace laptime::cuda {

// Position of a row in a tensor with a constant row stride.
LAPTIME_DEVICE int64_t row_at_equal_distance(const DeviceRows& rows, int64_t index) {
  return index * rows.walk.stride[0][0];
}

// Prefetches a row from memory; one call per block is enough. The row must begin and end at multiples of 16 bytes, and
// have a type for which moves_fours() is true.
LAPTIME_DEVICE void prefetch_row(const Thread& thread, const DeviceRows& x, int64_t index, int64_t columns) {
  const int64_t size = x.dtype == DType::kFloat32 ? 4 : 2;
  thread.prefetch(x.data + row_at_equal_distance(x, index) * size, static_cast<int>(columns * size));
}

// The eight columns that a thread processes in each of its rows. If kApart, the second four are half a row away from
// the first four: each access of a warp to float32 is then contiguous, at the price of narrower accesses to 16-bit
// types.
template <bool kApart>
struct ColumnsOfThread {
  int64_t first, gap;
  bool exist;

  LAPTIME_DEVICE ColumnsOfThread(const Thread& thread, int64_t columns)
      : first(int64_t{thread.index()} * (kApart ? kFour : kEight)),
        gap(kApart ? columns / 2 : kFour),
        exist(int64_t{thread.index()} * kEight < columns) {}

  // `row` is the position of a row in the operand.
  LAPTIME_DEVICE RawEight load(const Thread& thread, const DeviceData& x, int64_t row) const {
    if (!kApart) return load_eight(thread, x, x.dtype, row + first);
    return {load_group<kFour>(thread, x, x.dtype, row + first),
            load_group<kFour>(thread, x, x.dtype, row + first + gap)};
  }
  LAPTIME_DEVICE void values(const RawEight& raw, DType dtype, float (&out)[kEight]) const {
    kApart ? values_of_fours(raw, dtype, out) : values_of(raw, dtype, out);
  }
  LAPTIME_DEVICE void store(const Thread& thread, const DeviceData& y, int64_t row,
                            const float (&values)[kEight]) const {
    kApart ? store_fours(thread, y, y.dtype, row + first, row + first + gap, values)
           : store_eight(thread, y, y.dtype, row + first, values);
  }
};

// The largest number of warps that share a row.
constexpr int kMostRowWarps = 16;

// Rows that a block keeps in registers, eight columns per thread.
struct RowsInRegisters {
  static constexpr int kMostThreads = kMostRowWarps * kWarp;
  static constexpr int64_t kMostColumns = int64_t{kMostThreads} * kEight;
  static constexpr int threads_for(int64_t columns) {
    constexpr int64_t kOfWarp = int64_t{kEight} * kWarp;
    return static_cast<int>((columns + kOfWarp - 1) / kOfWarp) * kWarp;
  }
};

// Several numbers that are loaded or stored in one access.
template <int kCount>
struct alignas(kCount * sizeof(float)) Floats {
  float of[kCount];
};
template <int kCount>
using WarpFloats = SharedArray<Floats<kCount>, kMostRowWarps>;

// Replaces each of `values` by its sum over `kLanes` adjacent threads.
template <int kLanes, int kCount>
LAPTIME_DEVICE void sum_lanes(const Thread& thread, float (&values)[kCount]) {
  LAPTIME_UNROLL
  for (int mask = kLanes / 2; mask > 0; mask /= 2) {
    LAPTIME_UNROLL
    for (int i = 0; i < kCount; ++i) values[i] += thread.exchange(values[i], mask);
  }
}

// Replaces each of `values` by its sum over the threads of the block, in an order that depends only on the size of the
// block, which has at most kMostRowWarps warps. Every thread gets the sums. `parts` can be reused only after another
// barrier.
template <int kCount>
LAPTIME_DEVICE void sum_together(const Thread& thread, WarpFloats<kCount>& parts, float (&values)[kCount]) {
  sum_lanes<kWarp>(thread, values);
  const int warps = thread.threads() / kWarp;
  if (warps == 1) return;
  Floats<kCount> sums;
  LAPTIME_UNROLL
  for (int i = 0; i < kCount; ++i) sums.of[i] = values[i];
  if (thread.index() % kWarp == 0) thread.store(parts, thread.index() / kWarp, sums);
  thread.synchronize();
  // Every warp adds the sums of all warps with exchange(), which takes fewer instructions than a loop over the warps.
  const int warp = thread.index() % kMostRowWarps;
  sums = {};
  if (warp < warps) sums = thread.load(parts, warp);
  LAPTIME_UNROLL
  for (int i = 0; i < kCount; ++i) values[i] = sums.of[i];
  sum_lanes<kMostRowWarps>(thread, values);
}

}  // namespace laptime::cuda
