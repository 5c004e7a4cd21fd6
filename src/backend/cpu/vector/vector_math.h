// Elementary functions of one float that the compiler vectorises inside a loop: no branches, tables or calls.
#pragma once

#include <bit>
#include <cstdint>

#include "backend/cpu/vector/multiply_add.h"

// The polynomials are minimax fits (Remez). A comment at each polynomial states the function and the error.
namespace laptime::LAPTIME_ISA {

// e^x within 1.2 ulp. The result is 0 below x = -86.64 (2^-125), inf above 88.73, and NaN for NaN.
inline float exp_f32(float x) {
  constexpr float kSmallest = -86.64F;
  constexpr float kLargest = 89.0F;
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693145752F;  // 15 bits, so that n * kLn2High is exact
  constexpr float kLn2Low = 1.42860677e-06F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const float clamped = x > kLargest ? kLargest : x;
  const float shifted = multiply_add(clamped, kLog2E, kRound);
  const float n = shifted - kRound;
  const float r = multiply_add(-n, kLn2Low, multiply_add(-n, kLn2High, clamped));
  // e^r on [-ln2/2, ln2/2], relative error 3.1e-9
  float e_r = 0.001381447073072195F;
  e_r = multiply_add(e_r, r, 0.008368780836462975F);
  e_r = multiply_add(e_r, r, 0.04166839271783829F);
  e_r = multiply_add(e_r, r, 0.1666651964187622F);
  e_r = multiply_add(e_r, r, 0.4999999403953552F);
  e_r = multiply_add(e_r, r, 1.0F);
  e_r = multiply_add(e_r, r, 1.0F);
  // e^r 2^n is computed as (2 e^r) 2^(n-1), because 2^128 is not a float32.
  const uint32_t whole = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kRound);
  const float y = (e_r + e_r) * std::bit_cast<float>((whole + 126U) << 23U);
  return x < kSmallest ? 0.0F : y;
}

// Natural logarithm within 1 ulp; -inf for 0, NaN for negative x, inf for inf.
inline float log_f32(float x) {
  constexpr float kLn2High = 0.693145752F;
  constexpr float kLn2Low = 1.42860677e-06F;
  constexpr float kSmallestNormal = 1.17549435e-38F;
  constexpr float kInfinity = __builtin_inff();
  const bool denormal = x < kSmallestNormal;
  const float scaled = denormal ? x * 8388608.0F : x;
  const auto bits = std::bit_cast<uint32_t>(scaled);
  // m in [sqrt(1/2), sqrt(2)) with x = m 2^e
  constexpr uint32_t kSqrtHalf = 0x3F3504F3U;
  const uint32_t offset = bits - kSqrtHalf;
  const float e = static_cast<float>(static_cast<int32_t>(offset) >> 23U) - (denormal ? 23.0F : 0.0F);
  const float m = std::bit_cast<float>((offset & 0x007FFFFFU) + kSqrtHalf);
  const float f = m - 1.0F;
  // (log(1 + f) - f + f^2 / 2) / f^3, relative error of the logarithm 7.5e-10
  float p = 0.0674663782119751F;
  p = multiply_add(p, f, -0.11675650626420975F);
  p = multiply_add(p, f, 0.11888162791728973F);
  p = multiply_add(p, f, -0.1240558996796608F);
  p = multiply_add(p, f, 0.14219552278518677F);
  p = multiply_add(p, f, -0.1666799634695053F);
  p = multiply_add(p, f, 0.2000211924314499F);
  p = multiply_add(p, f, -0.25000008940696716F);
  p = multiply_add(p, f, 0.3333331346511841F);
  const float square = f * f;
  const float tail = multiply_add(multiply_add(p, f, -0.5F), square, e * kLn2Low);
  const float value = multiply_add(e, kLn2High, tail + f);
  const float positive = x == kInfinity ? kInfinity : value;
  const float defined = x == 0.0F ? -kInfinity : positive;
  return x >= 0.0F ? defined : __builtin_nanf("");
}

// Subtracts a double from floats before exp. The double is stored as two floats, because the rounding error of a single
// float would scale every exponential in the same way.
class Shift {
 public:
  explicit Shift(double value)
      : high_(static_cast<float>(value)),
        low_(__builtin_isfinite(high_) ? static_cast<float>(value - static_cast<double>(high_)) : 0.0F) {}
  float operator()(float x) const { return (x - high_) - low_; }

 private:
  float high_, low_;
};

// The logistic function, 1 / (1 + e^-x)
inline float sigmoid_f32(float x) { return 1.0F / (1.0F + exp_f32(-x)); }

// Unnormalised density and distribution function of the standard normal distribution at x.
struct Normal {
  float density;  // e^(-x^2 / 2)
  float below;    // 0.5 (1 + erf(x / sqrt 2)), absolute error 2.2e-7, tends to 0 at -inf
};
inline Normal normal_f32(float x) {
  const float distance = __builtin_fabsf(x);
  const float density = exp_f32(-0.5F * x * x);
  // P(X > |x|) = density * w * q(w) with w = 1 / (1 + 0.35 |x|), for |x| < 14; relative error 7.9e-8 before rounding
  const float w = 1.0F / multiply_add(0.35F, distance, 1.0F);
  float q = -0.029145877808332443F;
  q = multiply_add(q, w, 0.14397147297859192F);
  q = multiply_add(q, w, -0.2557138204574585F);
  q = multiply_add(q, w, 0.15917374193668365F);
  q = multiply_add(q, w, -0.023109586909413338F);
  q = multiply_add(q, w, 0.10550791770219803F);
  q = multiply_add(q, w, 0.11983288824558258F);
  q = multiply_add(q, w, 0.13986186683177948F);
  q = multiply_add(q, w, 0.13962140679359436F);
  const float beyond = density * w * q;
  return {density, x < 0.0F ? beyond : 1.0F - beyond};
}

}  // namespace laptime::LAPTIME_ISA
