// Loads and stores eight floating-point elements, adjacent or in two groups of four, for the types for which
// moves_fours() is true.
#pragma once

#include "backend/cuda/words.h"

namespace laptime::cuda {

// Eight elements as they are in memory. Adjacent elements of 16 bits leave `last` unused.
struct RawEight {
  Words first{}, last{};
};

// The address of element `position` must be a multiple of 16. `dtype` is the type of `x`; if it is a compile-time
// constant, the compiler removes the code for other types.
LAPTIME_DEVICE RawEight load_eight(const Thread& thread, const DeviceData& x, DType dtype, int64_t position) {
  if (dtype != DType::kFloat32) return {load_group<kEight>(thread, x, dtype, position), {}};
  return {load_group<kFour>(thread, x, dtype, position), load_group<kFour>(thread, x, dtype, position + kFour)};
}

LAPTIME_DEVICE RawEight load_eight(const Thread& thread, const DeviceData& x, int64_t position) {
  return load_eight(thread, x, x.dtype, position);
}

// For eight elements in two groups of four, each of which has its own position: loaded by load_group().
LAPTIME_DEVICE void values_of_fours(const RawEight& raw, DType dtype, float (&out)[kEight]) {
  float first[kFour];
  float last[kFour];
  values_of(raw.first, dtype, first);
  values_of(raw.last, dtype, last);
  LAPTIME_UNROLL
  for (int i = 0; i < kFour; ++i) {
    out[i] = first[i];
    out[kFour + i] = last[i];
  }
}
LAPTIME_DEVICE void store_fours(const Thread& thread, const DeviceData& y, DType dtype, int64_t first_position,
                                int64_t last_position, const float (&values)[kEight]) {
  float first[kFour];
  float last[kFour];
  LAPTIME_UNROLL
  for (int i = 0; i < kFour; ++i) {
    first[i] = values[i];
    last[i] = values[kFour + i];
  }
  store_group(thread, y, dtype, first_position, first);
  store_group(thread, y, dtype, last_position, last);
}

LAPTIME_DEVICE void values_of(const RawEight& raw, DType dtype, float (&out)[kEight]) {
  if (dtype != DType::kFloat32) return values_of(raw.first, dtype, out);
  values_of_fours(raw, DType::kFloat32, out);
}

LAPTIME_DEVICE void store_eight(const Thread& thread, const DeviceData& y, DType dtype, int64_t position,
                                const float (&values)[kEight]) {
  if (dtype != DType::kFloat32) return store_group(thread, y, dtype, position, values);
  store_fours(thread, y, DType::kFloat32, position, position + kFour, values);
}

LAPTIME_DEVICE void store_eight(const Thread& thread, const DeviceData& y, int64_t position,
                                const float (&values)[kEight]) {
  store_eight(thread, y, y.dtype, position, values);
}

}  // namespace laptime::cuda
