// Element types in memory and the float32 they are computed in, written so that the compiler vectorises them.
#pragma once

#include <bit>
#include <cstdint>

#include "backend/cpu/isa_namespace.h"

namespace laptime::LAPTIME_ISA {

struct Brain {  // bfloat16
  uint16_t bits;
};
struct Half {  // float16
  _Float16 value;
};

inline float widened(float value) { return value; }
inline float widened(Brain value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16U); }
inline float widened(Half value) { return static_cast<float>(value.value); }
inline uint8_t widened(uint8_t value) { return value; }

// To nearest even; NaN stays NaN.
template <class Element, class Value>
Element narrowed(Value value) {
  if constexpr (std::is_same_v<Element, Brain>) {
    const auto wide = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (wide + 0x7FFFU + ((wide >> 16U) & 1U)) >> 16U;
    return {static_cast<uint16_t>(value != value ? (wide >> 16U) | 0x40U : rounded)};
  } else if constexpr (std::is_same_v<Element, Half>) {
    return {static_cast<_Float16>(value)};
  } else {
    return static_cast<Element>(value);
  }
}

}  // namespace laptime::LAPTIME_ISA
