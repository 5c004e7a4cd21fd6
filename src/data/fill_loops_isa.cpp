// Converts the bits of a stream to uniform and normal values, a block at a time, in loops that the compiler vectorises.
//
// Normal values by inversion: z = sqrt(2) erfinv(x), with erfinv after M. Giles, "Approximating the erfinv function"
// (GPU Computing Gems 2, 2011), the single precision polynomials.
//
// Every instruction set produces the same bits: integers are exact; floating-point code uses only sums, products,
// square roots and conversions, which IEEE 754 defines exactly; there are no libm calls and no horizontal sums; and
// this file is compiled with -ffp-contract=off (cmake/op_files.cmake), so that a product and a sum are rounded
// separately.
#include "data/fill_loops.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/random.h"

namespace laptime::LAPTIME_ISA {
namespace {

constexpr int64_t kBlock = 256;
constexpr int64_t kGroup = 32;  // a block is scanned for tails in groups of this size

// The value of a polynomial at x. Coefficients are ordered from the highest power down.
template <size_t N>
inline float horner(const std::array<float, N>& coefficients, float x) {
  float sum = coefficients[0];
  for (size_t i = 1; i < N; ++i) sum = sum * x + coefficients[i];
  return sum;
}

// Natural logarithm of a positive normal float (Cephes' logf polynomial).
inline float log_of(float x) {
  constexpr std::array kPolynomial{7.0376836292e-2F,  -1.1514610310e-1F, 1.1676998740e-1F,
                                   -1.2420140846e-1F, 1.4249322787e-1F,  -1.6668057665e-1F,
                                   2.0000714765e-1F,  -2.4999993993e-1F, 3.3333331174e-1F};
  constexpr int32_t kRootHalf = 0x3F3504F3;  // sqrt(1/2); mantissas are normalised to [sqrt(1/2), sqrt(2))
  const auto bits = std::bit_cast<int32_t>(x);
  const int32_t exponent = (bits - kRootHalf) >> 23;
  const float f = std::bit_cast<float>(bits - (exponent << 23)) - 1.0F;
  const auto e = static_cast<float>(exponent);
  const float tail = horner(kPolynomial, f) * f * f * f - 2.12194440e-4F * e - 0.5F * (f * f);
  return f + tail + 0.693359375F * e;
}

constexpr float kTail = 5;  // erfinv_center is inaccurate for w = -log(1 - x^2) >= kTail: 0.34 % of values

inline float erfinv_center(float x, float w) {
  constexpr std::array kPolynomial{2.81022636e-08F, 3.43273939e-07F, -3.5233877e-06F, -4.39150654e-06F, 0.00021858087F,
                                   -0.00125372503F, -0.00417768164F, 0.246640727F,    1.50140941F};
  return x * horner(kPolynomial, w - 2.5F);
}

inline float erfinv_tail(float x, float w) {
  constexpr std::array kPolynomial{-0.000200214257F, 0.000100950558F, 0.00134934322F, -0.00367342844F, 0.00573950773F,
                                   -0.0076224613F,   0.00943887047F,  1.00167406F,    2.83297682F};
  return x * horner(kPolynomial, std::sqrt(w) - 3.0F);
}

using Floats = std::array<float, kBlock>;
using Words = std::array<uint32_t, kBlock>;

// The top 32 bits of elements [index, index + kBlock) of a stream.
inline void top_words(uint64_t key, int64_t index, Words& words) {
  const uint64_t first = key + static_cast<uint64_t>(index);
#pragma omp simd
  for (int64_t i = 0; i < kBlock; ++i) {
    words[static_cast<size_t>(i)] = static_cast<uint32_t>(splitmix64(first + static_cast<uint64_t>(i)) >> 32U);
  }
}

// Recomputes y = erfinv(x) where w is in the tail. Compares floats as integers, because non-negative floats sort like
// their bit patterns.
inline void mend_tails(const Floats& x, const Floats& w, Floats& y) {
  constexpr auto kTailBits = std::bit_cast<int32_t>(kTail);
  for (int64_t begin = 0; begin < kBlock; begin += kGroup) {
    const float* const group = w.data() + begin;
    int32_t most = std::numeric_limits<int32_t>::min();
#pragma omp simd reduction(max : most)
    for (int64_t i = 0; i < kGroup; ++i) most = std::max(most, std::bit_cast<int32_t>(group[i]));
    if (most < kTailBits) [[likely]]
      continue;
    const float* const x_group = x.data() + begin;
    float* const y_group = y.data() + begin;
#pragma omp simd
    for (int64_t i = 0; i < kGroup; ++i) {
      const float tail = erfinv_tail(x_group[i], group[i]);
      y_group[i] = group[i] >= kTail ? tail : y_group[i];
    }
  }
}

// The magnitude of a value is the quantile at 1 - p, with p in (below, 1/2]. p is built from 31 bits so that tails are
// fine-grained; the last bit is the sign. `limit` clips values that rounding leaves beyond the truncation.
void normal_block(uint64_t key, int64_t index, NormalShape shape, Floats& out) {
  Words words;
  Floats x;
  Floats w;
  top_words(key, index, words);
  const float range = 0.5F - shape.below;
#pragma omp simd
  for (size_t i = 0; i < kBlock; ++i) {
    const auto magnitude = static_cast<int32_t>(words[i] >> 1U);
    const float p = shape.below + (static_cast<float>(magnitude) + 0.5F) * 0x1p-31F * range;
    x[i] = 1.0F - 2.0F * p;
    w[i] = -log_of(4.0F * p * (1.0F - p));
    out[i] = erfinv_center(x[i], w[i]);
  }
  mend_tails(x, w, out);
  constexpr float kSqrt2 = 1.41421356F;
#pragma omp simd
  for (size_t i = 0; i < kBlock; ++i) {
    const float z = std::min(kSqrt2 * out[i], shape.limit) * shape.std;
    out[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(z) | (words[i] << 31U));
  }
}

void uniform_block(uint64_t key, int64_t index, float amplitude, float center, Floats& out) {
  Words words;
  top_words(key, index, words);
#pragma omp simd
  for (size_t i = 0; i < kBlock; ++i) {
    const auto top = static_cast<int32_t>(words[i] >> 8U);
    out[i] = static_cast<float>(2 * top - (1 << 24)) * 0x1p-24F * amplitude;  // exact until the last product
  }
  if (center == 0) return;
#pragma omp simd
  for (size_t i = 0; i < kBlock; ++i) out[i] += center;
}

template <class MakeBlock>
void fill(int64_t begin, float* out, int64_t count, const MakeBlock& make_block) {
  Floats values;
  for (int64_t first = 0; first < count; first += kBlock) {
    make_block(begin + first, values);
    std::copy_n(values.begin(), std::min(kBlock, count - first), out + first);
  }
}

void fill_uniform(uint64_t key, int64_t begin, float* out, int64_t count, float amplitude, float center) {
  fill(begin, out, count, [&](int64_t index, Floats& values) { uniform_block(key, index, amplitude, center, values); });
}

void fill_normal(uint64_t key, int64_t begin, float* out, int64_t count, NormalShape shape) {
  fill(begin, out, count, [&](int64_t index, Floats& values) { normal_block(key, index, shape, values); });
}

}  // namespace

FillLoops fill_loops() { return {fill_uniform, fill_normal}; }

}  // namespace laptime::LAPTIME_ISA
