// Eight adjacent elements of a row, which a thread moves with accesses of 16 bytes and keeps in registers.
#pragma once

#include "backend/cuda/tensor.h"

namespace laptime::cuda {

constexpr int kPack = 8;

// The 16 bytes that one access moves.
struct alignas(16) Chunk {
  uint32_t words[4];
};

// A pack as it is in memory. It is converted only after all loads have been requested, so that they overlap.
struct RawPack {
  Chunk low{};   // all elements of a 16-bit type, or the first four of float32
  Chunk high{};  // the last four of float32
};

// Position of a row of a tensor whose rows are at equal distances.
LAPTIME_DEVICE int64_t row_at_equal_distance(const DeviceRows& rows, int64_t index) {
  return index * rows.walk.stride[0][0];
}

// Elements [position, position + 8) of a type for which moves_fours() is true. Their address is a multiple of 16.
LAPTIME_DEVICE RawPack load_pack(const Thread& thread, const DeviceData& x, int64_t position) {
  const bool wide = x.dtype == DType::kFloat32;
  const auto* chunks = reinterpret_cast<const Chunk*>(x.data + (wide ? position * 4 : position * 2));
  RawPack raw;
  raw.low = thread.load(chunks);
  if (wide) raw.high = thread.load(chunks + 1);
  return raw;
}

LAPTIME_DEVICE float float_of_bits(uint32_t bits) { return std::bit_cast<float>(bits); }

// Conversions of two elements in a word. The card has instructions for them; the bits of a NaN may differ.
#if defined(__CUDA_ARCH__)
LAPTIME_DEVICE float float_of_half(uint32_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<uint16_t>(bits)));
  return value;
}
LAPTIME_DEVICE uint32_t word_of(BFloat16, float low, float high) {
  uint32_t word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}
LAPTIME_DEVICE uint32_t word_of(Float16, float low, float high) {
  uint32_t word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}
#else
LAPTIME_DEVICE float float_of_half(uint32_t bits) {
  Float16 half;
  half.bits = static_cast<uint16_t>(bits);
  return static_cast<float>(half);
}
template <class T>
LAPTIME_DEVICE uint32_t word_of(T, float low, float high) {
  return T(low).bits | static_cast<uint32_t>(T(high).bits) << 16U;
}
#endif

LAPTIME_DEVICE void unpack(DType dtype, const RawPack& raw, float (&out)[kPack]) {
  if (dtype == DType::kFloat32) {
    LAPTIME_UNROLL
    for (int i = 0; i < 4; ++i) {
      out[i] = float_of_bits(raw.low.words[i]);
      out[i + 4] = float_of_bits(raw.high.words[i]);
    }
  } else if (dtype == DType::kBFloat16) {
    LAPTIME_UNROLL
    for (int i = 0; i < 4; ++i) {
      out[2 * i] = float_of_bits(raw.low.words[i] << 16U);
      out[2 * i + 1] = float_of_bits(raw.low.words[i] & 0xFFFF0000U);
    }
  } else {
    LAPTIME_UNROLL
    for (int i = 0; i < 4; ++i) {
      out[2 * i] = float_of_half(raw.low.words[i] & 0xFFFFU);
      out[2 * i + 1] = float_of_half(raw.low.words[i] >> 16U);
    }
  }
}

LAPTIME_DEVICE void store_pack(const Thread& thread, const DeviceData& y, int64_t position,
                               const float (&values)[kPack]) {
  const bool wide = y.dtype == DType::kFloat32;
  auto* chunks = reinterpret_cast<Chunk*>(y.data + (wide ? position * 4 : position * 2));
  Chunk low;
  if (wide) {
    Chunk high;
    LAPTIME_UNROLL
    for (int i = 0; i < 4; ++i) {
      low.words[i] = std::bit_cast<uint32_t>(values[i]);
      high.words[i] = std::bit_cast<uint32_t>(values[i + 4]);
    }
    thread.store(chunks, low);
    thread.store(chunks + 1, high);
    return;
  }
  if (y.dtype == DType::kBFloat16) {
    LAPTIME_UNROLL
    for (int i = 0; i < 4; ++i) low.words[i] = word_of(BFloat16{}, values[2 * i], values[2 * i + 1]);
  } else {
    LAPTIME_UNROLL
    for (int i = 0; i < 4; ++i) low.words[i] = word_of(Float16{}, values[2 * i], values[2 * i + 1]);
  }
  thread.store(chunks, low);
}

// Several numbers that are moved at once.
template <int kCount>
struct alignas(kCount * sizeof(float)) Floats {
  float of[kCount];
};
template <int kCount>
using WarpFloats = SharedArray<Floats<kCount>, kMaxBlock / kWarp>;

// Each of the values summed over the threads of a block, in an order that depends only on the size of the block. Every
// thread gets the sums. `parts` can be used again after another barrier.
template <int kCount>
LAPTIME_DEVICE void sum_together(const Thread& thread, WarpFloats<kCount>& parts, float (&values)[kCount]) {
  LAPTIME_UNROLL
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    LAPTIME_UNROLL
    for (int i = 0; i < kCount; ++i) values[i] += thread.exchange(values[i], mask);
  }
  const int warps = thread.threads() / kWarp;
  if (warps == 1) return;
  Floats<kCount> sums;
  LAPTIME_UNROLL
  for (int i = 0; i < kCount; ++i) sums.of[i] = values[i];
  if (thread.index() % kWarp == 0) thread.store(parts, thread.index() / kWarp, sums);
  thread.synchronize();
  LAPTIME_UNROLL
  for (int i = 0; i < kCount; ++i) values[i] = 0;
  for (int warp = 0; warp < warps; ++warp) {
    sums = thread.load(parts, warp);
    LAPTIME_UNROLL
    for (int i = 0; i < kCount; ++i) values[i] += sums.of[i];
  }
}

}  // namespace laptime::cuda
