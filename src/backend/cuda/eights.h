// Loads and stores groups of eight adjacent floating-point elements by 16-byte accesses, for the types for which
// moves_fours() is true.
#pragma once

#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// The 16 bytes that one access moves.
struct alignas(16) Words {
  uint32_t of[4];
};
constexpr int kWordsBytes = sizeof(Words);

// Eight elements as they are in memory. Elements of 16 bits leave `last` unused. Elements are loaded in this form and
// converted later, so that no load waits for the conversion of an earlier one.
struct RawEight {
  Words first{}, last{};
};

// The address of element `position` must be a multiple of 16. `dtype` is the type of `x`; if it is a compile-time
// constant, the compiler removes the code for other types.
LAPTIME_DEVICE RawEight load_eight(const Thread& thread, const DeviceData& x, DType dtype, int64_t position) {
  RawEight raw{};
  const bool wide = dtype == DType::kFloat32;
  const auto* const from = wide ? reinterpret_cast<const Words*>(x.at<float>(position))
                                : reinterpret_cast<const Words*>(x.at<uint16_t>(position));
  raw.first = thread.load(from);
  if (wide) raw.last = thread.load(from + 1);
  return raw;
}

LAPTIME_DEVICE RawEight load_eight(const Thread& thread, const DeviceData& x, int64_t position) {
  return load_eight(thread, x, x.dtype, position);
}

// Rounds two numbers to 16 bits and puts the first into the lower half of the word. The card has an instruction for
// this.
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

// Branches once for all elements: with a branch for each one, the compiler uses more registers.
LAPTIME_DEVICE void values_of(const RawEight& raw, DType dtype, float (&out)[kEight]) {
  if (dtype == DType::kFloat32) {
    LAPTIME_UNROLL
    for (int i = 0; i < 4; ++i) {
      out[i] = std::bit_cast<float>(raw.first.of[i]);
      out[4 + i] = std::bit_cast<float>(raw.last.of[i]);
    }
  } else if (dtype == DType::kBFloat16) {
    LAPTIME_UNROLL
    for (int i = 0; i < 4; ++i) {
      out[i + i] = std::bit_cast<float>(raw.first.of[i] << 16U);
      out[i + i + 1] = std::bit_cast<float>(raw.first.of[i] & 0xFFFF0000U);
    }
  } else {
    LAPTIME_UNROLL
    for (int i = 0; i < 4; ++i) {
      out[i + i] = float_of_half(static_cast<uint16_t>(raw.first.of[i]));
      out[i + i + 1] = float_of_half(static_cast<uint16_t>(raw.first.of[i] >> 16U));
    }
  }
}

LAPTIME_DEVICE void store_eight(const Thread& thread, const DeviceData& y, DType dtype, int64_t position,
                                const float (&values)[kEight]) {
  Words first;
  if (dtype == DType::kFloat32) {
    Words last;
    LAPTIME_UNROLL
    for (int i = 0; i < 4; ++i) {
      first.of[i] = std::bit_cast<uint32_t>(values[i]);
      last.of[i] = std::bit_cast<uint32_t>(values[4 + i]);
    }
    auto* const to = reinterpret_cast<Words*>(y.at<float>(position));
    thread.store(to, first);
    return thread.store(to + 1, last);
  }
  if (dtype == DType::kBFloat16) {
    LAPTIME_UNROLL
    for (int i = 0; i < 4; ++i) first.of[i] = packed_bfloat16(values[i + i], values[i + i + 1]);
  } else {
    LAPTIME_UNROLL
    for (int i = 0; i < 4; ++i) first.of[i] = packed_float16(values[i + i], values[i + i + 1]);
  }
  thread.store(reinterpret_cast<Words*>(y.at<uint16_t>(position)), first);
}

LAPTIME_DEVICE void store_eight(const Thread& thread, const DeviceData& y, int64_t position,
                                const float (&values)[kEight]) {
  store_eight(thread, y, y.dtype, position, values);
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

}  // namespace laptime::cuda
