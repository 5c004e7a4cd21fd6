// Loads and stores eight floating-point elements of a row, for the types for which moves_fours() is true.
#pragma once

#include "backend/cuda/words.h"

namespace laptime::cuda {

// Eight elements as they are in memory. Elements of 16 bits leave `last` unused.
struct RawEight {
  Words first{}, last{};
};

// Loads four elements at `position` and four elements `gap` further. With a gap of four, the elements are adjacent, and
// the address must be a multiple of 16; otherwise both addresses must be multiples of the size of four elements.
// `dtype` is the type of `x`; if it is a compile-time constant, the compiler removes the code for other types.
LAPTIME_DEVICE RawEight load_eight(const Thread& thread, const DeviceData& x, DType dtype, int64_t position,
                                   int64_t gap = kFour) {
  if (dtype != DType::kFloat32 && gap == kFour) return {load_group<kEight>(thread, x, dtype, position), {}};
  const Words first = load_group<kFour>(thread, x, dtype, position);
  const Words last = load_group<kFour>(thread, x, dtype, position + gap);
  if (dtype == DType::kFloat32) return {first, last};
  return {{{first.of[0], first.of[1], last.of[0], last.of[1]}}, {}};
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

// Stores what load_eight() loads.
LAPTIME_DEVICE void store_eight(const Thread& thread, const DeviceData& y, DType dtype, int64_t position,
                                const float (&values)[kEight], int64_t gap = kFour) {
  if (dtype != DType::kFloat32 && gap == kFour) return store_group(thread, y, dtype, position, values);
  float first[kFour];
  float last[kFour];
  LAPTIME_UNROLL
  for (int i = 0; i < kFour; ++i) {
    first[i] = values[i];
    last[i] = values[kFour + i];
  }
  store_group(thread, y, dtype, position, first);
  store_group(thread, y, dtype, position + gap, last);
}

LAPTIME_DEVICE void store_eight(const Thread& thread, const DeviceData& y, int64_t position,
                                const float (&values)[kEight]) {
  store_eight(thread, y, y.dtype, position, values);
}

}  // namespace laptime::cuda
