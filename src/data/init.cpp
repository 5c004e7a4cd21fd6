// Normal values by inversion: z = sqrt(2) erfinv(x), with erfinv after M. Giles, "Approximating the erfinv function"
// (GPU Computing Gems 2, 2011), the single precision polynomials. No libm in the common path: loops vectorise and the
// same bits come out on every machine.
#include "data/init.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

#include "base/error.h"

namespace laptime {
namespace {

constexpr float kSqrt2 = 1.41421356F;
constexpr float kCut = 3;
constexpr double kBelowCut = 1.3498980316300946e-3;  // Phi(-3)
constexpr size_t kBlock = 256;

// Value of the polynomial with these coefficients, the highest power first.
template <size_t N>
inline float horner(const std::array<float, N>& coefficients, float x) {
  float sum = coefficients[0];
  for (size_t i = 1; i < N; ++i) sum = sum * x + coefficients[i];
  return sum;
}

// Natural logarithm of a positive normal float (the polynomial of Cephes' logf).
inline float log_of(float x) {
  constexpr std::array kPolynomial{7.0376836292e-2F,  -1.1514610310e-1F, 1.1676998740e-1F,
                                   -1.2420140846e-1F, 1.4249322787e-1F,  -1.6668057665e-1F,
                                   2.0000714765e-1F,  -2.4999993993e-1F, 3.3333331174e-1F};
  constexpr int32_t kRootHalf = 0x3F3504F3;  // sqrt(1/2): the mantissa is taken from [sqrt(1/2), sqrt(2))
  const auto bits = std::bit_cast<int32_t>(x);
  const int32_t exponent = (bits - kRootHalf) >> 23;
  const float f = std::bit_cast<float>(bits - (exponent << 23)) - 1.0F;
  const auto e = static_cast<float>(exponent);
  const float tail = horner(kPolynomial, f) * f * f * f - 2.12194440e-4F * e - 0.5F * (f * f);
  return f + tail + 0.693359375F * e;
}

constexpr float kTail = 5;  // where w = -log(1 - x^2) leaves the first polynomial: 0.34 % of a normal's values

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

// Block of values from the bits of a stream. The magnitude is the quantile of p in (below, 1/2], made of 31 bits so
// that tails are fine; one more bit is the sign. `limit` takes off what rounding leaves beyond the cut.
void normal_block(const std::array<uint64_t, kBlock>& bits, float below, float limit, float std,
                  std::array<float, kBlock>& out) {
  std::array<int32_t, kBlock> magnitude;
  std::array<int32_t, kBlock> sign;
  for (size_t i = 0; i < kBlock; ++i) magnitude[i] = static_cast<int32_t>(bits[i] >> 33U);
  for (size_t i = 0; i < kBlock; ++i) sign[i] = static_cast<int32_t>((bits[i] >> 1U) & 0x80000000U);
  std::array<float, kBlock> x;
  std::array<float, kBlock> w;
  const float range = 0.5F - below;
  for (size_t i = 0; i < kBlock; ++i) {
    const float p = below + (static_cast<float>(magnitude[i]) + 0.5F) * 0x1p-31F * range;
    x[i] = 1.0F - 2.0F * p;
    w[i] = -log_of(4.0F * p * (1.0F - p));
    out[i] = erfinv_center(x[i], w[i]);
  }
  for (size_t i = 0; i < kBlock; ++i) {
    if (w[i] >= kTail) [[unlikely]]
      out[i] = erfinv_tail(x[i], w[i]);
  }
  for (size_t i = 0; i < kBlock; ++i) {
    const float z = std::min(kSqrt2 * out[i], limit) * std;
    out[i] = std::bit_cast<float>(std::bit_cast<int32_t>(z) | sign[i]);
  }
}

void fill(const Stream& stream, int64_t begin, std::span<float> out, float below, float limit, double std) {
  std::array<uint64_t, kBlock> bits;
  std::array<float, kBlock> values;
  for (size_t first = 0; first < out.size(); first += kBlock) {
    const auto index = begin + static_cast<int64_t>(first);
    for (size_t i = 0; i < kBlock; ++i) bits[i] = stream[index + static_cast<int64_t>(i)];
    normal_block(bits, below, limit, static_cast<float>(std), values);
    std::copy_n(values.begin(), std::min(kBlock, out.size() - first), out.begin() + static_cast<ptrdiff_t>(first));
  }
}

}  // namespace

void fill_normal(const Stream& stream, int64_t begin, std::span<float> out, double std) {
  constexpr float kNoLimit = 1e30F;
  fill(stream, begin, out, 0, kNoLimit, std);
}

void fill_truncated_normal(const Stream& stream, int64_t begin, std::span<float> out, double std) {
  fill(stream, begin, out, static_cast<float>(kBelowCut), kCut, std);
}

void fill_parameter(const ParameterSpec& parameter, WeightInit init, int64_t seed, int64_t begin,
                    std::span<float> out) {
  const auto key = static_cast<uint64_t>(seed);
  if (init == WeightInit::kStream) {
    const auto center = static_cast<float>(parameter.stream.mean);
    return fill_uniform(Stream(key, parameter.name), begin, out, parameter.stream.std, center);
  }
  const Stream stream(key, "init/" + parameter.name);
  switch (parameter.init.distribution) {
    case Distribution::kZeros: std::fill(out.begin(), out.end(), 0.0F); return;
    case Distribution::kOnes: std::fill(out.begin(), out.end(), 1.0F); return;
    case Distribution::kNormal: return fill_normal(stream, begin, out, parameter.init.std);
    case Distribution::kTruncatedNormal: return fill_truncated_normal(stream, begin, out, parameter.init.std);
  }
}

}  // namespace laptime
