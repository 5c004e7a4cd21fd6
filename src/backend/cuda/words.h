// Loads and stores groups of floating-point elements in accesses of 16 or 8 bytes, for the types for which
// moves_fours() is true.
#pragma once

#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// The 16 bytes that one access moves.
struct alignas(16) Words {
  uint32_t of[4];
};
constexpr int kWordsBytes = sizeof(Words);
struct alignas(8) TwoWords {
  uint32_t of[2];
};

// Loads kSize adjacent elements without converting them, so that no load waits for the conversion of an earlier one. A
// group is four elements, or eight 16-bit elements; its address is a multiple of its size. `dtype` is the type of `x`;
// if it is a compile-time constant, the compiler removes the code for other types.
template <int kSize>
LAPTIME_DEVICE Words load_group(const Thread& thread, const DeviceData& x, DType dtype, int64_t position) {
  if (kSize == kFour && dtype == DType::kFloat32)
    return thread.load(reinterpret_cast<const Words*>(x.at<float>(position)));
  if (kSize == kEight) return thread.load(reinterpret_cast<const Words*>(x.at<uint16_t>(position)));
  const auto two = thread.load(reinterpret_cast<const TwoWords*>(x.at<uint16_t>(position)));
  return {{two.of[0], two.of[1], 0, 0}};
}

// Rounds two numbers to bfloat16 and packs them into a word, the first in the lower half. One instruction on a GPU.
LAPTIME_DEVICE uint32_t packed_bfloat16(float first, float second) {
#if defined(__CUDA_ARCH__)
  uint32_t word = 0;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  return word;
#else
  return BFloat16(first).bits | static_cast<uint32_t>(BFloat16(second).bits) << 16U;
#endif
}
LAPTIME_DEVICE uint32_t packed_float16(float first, float second) {
#if defined(__CUDA_ARCH__)
  uint32_t word = 0;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  return word;
#else
  return Float16(first).bits | static_cast<uint32_t>(Float16(second).bits) << 16U;
#endif
}
LAPTIME_DEVICE float float_of_half(uint16_t bits) {
#if defined(__CUDA_ARCH__)
  float value = 0;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#else
  Float16 half;
  half.bits = bits;
  return static_cast<float>(half);
#endif
}

// Converts all elements to float32. Branches on `dtype` outside the loops: with a branch per element, the compiler uses
// more registers.
template <int kSize>
LAPTIME_DEVICE void values_of(const Words& raw, DType dtype, float (&out)[kSize]) {
  if (kSize == kFour && dtype == DType::kFloat32) {
    LAPTIME_UNROLL
    for (int i = 0; i < kFour; ++i) out[i] = std::bit_cast<float>(raw.of[i]);
  } else if (dtype == DType::kBFloat16) {
    LAPTIME_UNROLL
    for (int i = 0; i < kSize / 2; ++i) {
      out[i + i] = std::bit_cast<float>(raw.of[i] << 16U);
      out[i + i + 1] = std::bit_cast<float>(raw.of[i] & 0xFFFF0000U);
    }
  } else {
    LAPTIME_UNROLL
    for (int i = 0; i < kSize / 2; ++i) {
      out[i + i] = float_of_half(static_cast<uint16_t>(raw.of[i]));
      out[i + i + 1] = float_of_half(static_cast<uint16_t>(raw.of[i] >> 16U));
    }
  }
}

template <int kSize>
LAPTIME_DEVICE void store_group(const Thread& thread, const DeviceData& y, DType dtype, int64_t position,
                                const float (&values)[kSize]) {
  Words raw;
  if (kSize == kFour && dtype == DType::kFloat32) {
    LAPTIME_UNROLL
    for (int i = 0; i < kFour; ++i) raw.of[i] = std::bit_cast<uint32_t>(values[i]);
    return thread.store(reinterpret_cast<Words*>(y.at<float>(position)), raw);
  }
  if (dtype == DType::kBFloat16) {
    LAPTIME_UNROLL
    for (int i = 0; i < kSize / 2; ++i) raw.of[i] = packed_bfloat16(values[i + i], values[i + i + 1]);
  } else {
    LAPTIME_UNROLL
    for (int i = 0; i < kSize / 2; ++i) raw.of[i] = packed_float16(values[i + i], values[i + i + 1]);
  }
  if (kSize == kEight) return thread.store(reinterpret_cast<Words*>(y.at<uint16_t>(position)), raw);
  thread.store(reinterpret_cast<TwoWords*>(y.at<uint16_t>(position)), TwoWords{{raw.of[0], raw.of[1]}});
}

// Calls load(g, index) for up to kGroups indices of this thread, and then finish(g, index) for the same indices, so
// that several loads are in flight at the same time.
template <int kGroups, class Load, class Finish>
LAPTIME_DEVICE void for_groups(const Thread& thread, int64_t count, const Load& load, const Finish& finish) {
  const int64_t step = thread.blocks() * thread.threads();
  for (int64_t first = thread.block() * thread.threads() + thread.index(); first < count; first += kGroups * step) {
    LAPTIME_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      if (first + g * step < count) load(g, first + g * step);
    }
    LAPTIME_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      if (first + g * step < count) finish(g, first + g * step);
    }
  }
}

// Like for_groups above, but every thread, even one without indices, calls start() once, after its first loads, and
// stops if start() returns false.
template <int kGroups, class Load, class Start, class Finish>
LAPTIME_DEVICE void for_groups(const Thread& thread, int64_t count, const Load& load, const Start& start,
                               const Finish& finish) {
  const int64_t step = thread.blocks() * thread.threads();
  int64_t first = thread.block() * thread.threads() + thread.index();
  bool has_started = false;
  do {
    LAPTIME_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      if (first + g * step < count) load(g, first + g * step);
    }
    if (!has_started && !start()) return;
    has_started = true;
    LAPTIME_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      if (first + g * step < count) finish(g, first + g * step);
    }
    first += kGroups * step;
  } while (first < count);
}

// Eight elements that are not converted yet. Eight adjacent 16-bit elements fit in `first` and leave `last` unused.
struct RawEight {
  Words first{}, last{};
};

// Loads eight adjacent elements. The address of element `position` must be a multiple of 16. `dtype` is the type of
// `x`; if it is a compile-time constant, the compiler removes the code for other types.
LAPTIME_DEVICE RawEight load_eight(const Thread& thread, const DeviceData& x, DType dtype, int64_t position) {
  if (dtype != DType::kFloat32) return {load_group<kEight>(thread, x, dtype, position), {}};
  return {load_group<kFour>(thread, x, dtype, position), load_group<kFour>(thread, x, dtype, position + kFour)};
}

LAPTIME_DEVICE RawEight load_eight(const Thread& thread, const DeviceData& x, int64_t position) {
  return load_eight(thread, x, x.dtype, position);
}

// Converts eight elements that load_group() loaded as two groups of four, which need not be adjacent.
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
