// Loads and stores eight adjacent floating-point elements by 16-byte accesses, for the types for which moves_fours() is
// true.
#pragma once

#include "backend/cuda/words.h"

namespace laptime::cuda {

// Eight elements as they are in memory. Elements of 16 bits leave `last` unused.
struct RawEight {
  Words first{}, last{};
};

// The address of element `position` must be a multiple of 16. `dtype` is the type of `x`; if it is a compile-time
// constant, the compiler removes the code for other types.
LAPTIME_DEVICE RawEight load_eight(const Thread& thread, const DeviceData& x, DType dtype, int64_t position) {
  if (dtype == DType::kFloat32)
    return {load_group<kFour>(thread, x, dtype, position), load_group<kFour>(thread, x, dtype, position + kFour)};
  return {load_group<kEight>(thread, x, dtype, position), {}};
}

LAPTIME_DEVICE RawEight load_eight(const Thread& thread, const DeviceData& x, int64_t position) {
  return load_eight(thread, x, x.dtype, position);
}

LAPTIME_DEVICE void values_of(const RawEight& raw, DType dtype, float (&out)[kEight]) {
  if (dtype != DType::kFloat32) return values_of(raw.first, dtype, out);
  LAPTIME_UNROLL
  for (int i = 0; i < kFour; ++i) {
    out[i] = std::bit_cast<float>(raw.first.of[i]);
    out[kFour + i] = std::bit_cast<float>(raw.last.of[i]);
  }
}

LAPTIME_DEVICE void store_eight(const Thread& thread, const DeviceData& y, DType dtype, int64_t position,
                                const float (&values)[kEight]) {
  if (dtype != DType::kFloat32) return store_group(thread, y, dtype, position, values);
  Words first;
  Words last;
  LAPTIME_UNROLL
  for (int i = 0; i < kFour; ++i) {
    first.of[i] = std::bit_cast<uint32_t>(values[i]);
    last.of[i] = std::bit_cast<uint32_t>(values[kFour + i]);
  }
  auto* const to = reinterpret_cast<Words*>(y.at<float>(position));
  thread.store(to, first);
  thread.store(to + 1, last);
}

LAPTIME_DEVICE void store_eight(const Thread& thread, const DeviceData& y, int64_t position,
                                const float (&values)[kEight]) {
  store_eight(thread, y, y.dtype, position, values);
}

}  // namespace laptime::cuda
