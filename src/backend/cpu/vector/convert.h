// The 16-bit floating-point types in memory, and conversions of single elements to and from float32.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "backend/cpu/isa_namespace.h"

namespace laptime::LAPTIME_ISA {

struct BFloat16 {
  uint16_t bits;
};
struct Float16 {
  _Float16 value;
};
// A float32 in memory that is rounded to a 16-bit type when it is read.
template <class Narrow>
struct RoundedTo {
  float value;
};

// Rounds to nearest even; NaN stays NaN.
template <class Element, class Value>
Element narrowed(Value value) {
  if constexpr (std::is_same_v<Element, BFloat16>) {
    const auto wide = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (wide + 0x7FFFU + ((wide >> 16U) & 1U)) >> 16U;
    return {static_cast<uint16_t>(value != value ? (wide >> 16U) | 0x40U : rounded)};
  } else if constexpr (std::is_same_v<Element, Float16>) {
    return {static_cast<_Float16>(value)};
  } else {
    return static_cast<Element>(value);
  }
}

inline float widened(float value) { return value; }
inline float widened(BFloat16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16U); }
inline float widened(Float16 value) { return static_cast<float>(value.value); }
template <class Narrow>
float widened(RoundedTo<Narrow> value) {
  return widened(narrowed<Narrow>(value.value));
}
inline uint8_t widened(uint8_t value) { return value; }

}  // namespace laptime::LAPTIME_ISA
