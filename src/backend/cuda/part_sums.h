// The last stage of a sum over many rows: adds the partial sums, in an order that depends only on their number.
#pragma once

#include "backend/cuda/device_code.h"

namespace laptime::cuda {

// A block adds the parts of 32 adjacent columns. Up to 32 threads share a column; each of them is a lane that adds
// different parts.
struct PartSums {
  static constexpr int kColumns = kWarp;
  static constexpr int kMostLanes = kMaxBlock / kColumns;
  static constexpr int kTogether = 16;  // parts that a thread loads before it adds them in order, so that loads overlap
  // Uses just enough lanes to load all parts at once, because the sums of the lanes are added one after the other.
  static constexpr int threads_for(int64_t parts) {
    const int64_t lanes = (parts + kTogether - 1) / kTogether;
    return kColumns * static_cast<int>(lanes < kMostLanes ? lanes : kMostLanes);
  }

  SharedArray<double, kMaxBlock> of_lanes;  // [lane][column]

  // Adds up one column of partials [parts, columns]. Returns the sum in threads with an index below kColumns, and 0 in
  // all others. All threads of the block must call it; `column` may be beyond the last one.
  template <class T>
  LAPTIME_DEVICE double sum(const Thread& thread, const T* partials, int64_t parts, int64_t columns, int64_t column) {
    const int lane = thread.index() / kColumns;
    const int lanes = thread.threads() / kColumns;
    double total = 0;
    if (column < columns) {
      const auto count = static_cast<int>(parts);
      const int64_t step = lanes * columns;
      const T* next = partials + lane * columns + column;
      for (int part = lane; part < count; part += kTogether * lanes, next += kTogether * step) {
        T some[kTogether];
        LAPTIME_UNROLL
        for (int i = 0; i < kTogether; ++i) some[i] = part + i * lanes < count ? thread.load(next + i * step) : T{0};
        LAPTIME_UNROLL
        for (int i = 0; i < kTogether; ++i) total += static_cast<double>(some[i]);
      }
    }
    thread.store(of_lanes, thread.index(), total);
    thread.synchronize();
    if (lane != 0) return 0;
    LAPTIME_UNROLL
    for (int other = 1; other < kMostLanes; ++other) {
      if (other < lanes) total += thread.load(of_lanes, other * kColumns + thread.index());
    }
    return total;
  }
};

}  // namespace laptime::cuda
