// float32 as the sum of three bfloat16 terms, in plain C++: splits a number or a vector into terms, and lists the
// products of terms that make up the product of two numbers (Henry, Tang and Heinecke 2019). docs/adr/0009 states the
// error bound and the range.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace laptime::cpu {

inline constexpr uint32_t kUpperHalf = 0xFFFF0000U;  // the bits of a float32 that a bfloat16 keeps

// The terms of each number, in decreasing magnitude: value = terms[0] + terms[1] + terms[2] exactly, if none of the
// terms is denormal. `Number` is float and `Bits` uint32_t, or both are vectors with the same number of lanes.
//
// The first two terms are rounded to nearest, ties away from zero. If rounding would make the first term of a finite
// number infinite (magnitude bits of 0x7F7F8000 or more), the term is truncated instead. The other terms of an infinite
// number are NaN.
template <class Number, class Bits>
[[gnu::always_inline]] inline std::array<Number, 3> bfloat16_terms(const Number& value) {
  constexpr uint32_t kHalf = 0x8000U;  // half a unit in the last place of a bfloat16
  constexpr uint32_t kMagnitude = 0x7FFFFFFFU;
  constexpr uint32_t kRoundsToInfinity = 0x7F7F8000U;
  const Bits bits = std::bit_cast<Bits>(value);
  const Bits nearest = bits + kHalf;
  const Bits first_bits = ((bits & kMagnitude) < kRoundsToInfinity ? nearest : bits) & kUpperHalf;
  const Number first = std::bit_cast<Number>(first_bits);
  const Number rest = value - first;
  const Bits second_bits = (std::bit_cast<Bits>(rest) + kHalf) & kUpperHalf;
  const Number second = std::bit_cast<Number>(second_bits);
  return {first, second, rest - second};
}

// The indices of a term of A and a term of B that are multiplied.
struct TermPair {
  int a = 0, b = 0;
};

// The pairs of terms to multiply if elements of A have kATerms terms and elements of B have kBTerms. Consecutive pairs
// share a term, whose tiles stay loaded, and the largest product comes last. With three terms each, three of the nine
// products are omitted; their sum is at most (1 + 2^-8) 2^-24 times the product of the two numbers.
template <int64_t kATerms, int64_t kBTerms>
inline constexpr auto kTermPairs = std::array{TermPair{0, 0}};
template <>
inline constexpr auto kTermPairs<2, 1> = std::array{TermPair{1, 0}, TermPair{0, 0}};
template <>
inline constexpr auto kTermPairs<1, 2> = std::array{TermPair{0, 1}, TermPair{0, 0}};
template <>
inline constexpr auto kTermPairs<3, 3> =
    std::array{TermPair{2, 0}, TermPair{1, 0}, TermPair{1, 1}, TermPair{0, 1}, TermPair{0, 2}, TermPair{0, 0}};

}  // namespace laptime::cpu
