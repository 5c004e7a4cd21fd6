// Checked size arithmetic: a product or sum of sizes that does not fit in 63 bits throws Error instead of wrapping.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace laptime {

// A count of elements or bytes that cannot wrap: every operation throws Error on overflow.
class Size {
 public:
  constexpr Size() = default;
  constexpr Size(int64_t value)
      : value_(value) {}  // NOLINT(google-explicit-constructor): sizes mix with plain integers

  constexpr int64_t value() const { return value_; }
  explicit constexpr operator int64_t() const { return value_; }

  friend Size operator*(Size a, Size b) {
    int64_t product = 0;
    if (__builtin_mul_overflow(a.value_, b.value_, &product)) overflow(a.value_, '*', b.value_);
    return product;
  }
  friend Size operator+(Size a, Size b) {
    int64_t sum = 0;
    if (__builtin_add_overflow(a.value_, b.value_, &sum)) overflow(a.value_, '+', b.value_);
    return sum;
  }
  friend Size operator-(Size a, Size b) {
    int64_t difference = 0;
    if (__builtin_sub_overflow(a.value_, b.value_, &difference)) overflow(a.value_, '-', b.value_);
    return difference;
  }
  Size& operator+=(Size other) { return *this = *this + other; }
  Size& operator*=(Size other) { return *this = *this * other; }
  friend constexpr auto operator<=>(Size, Size) = default;

 private:
  [[noreturn]] static void overflow(int64_t a, char sign, int64_t b) {
    throw Error::format("size too large: {} {} {} does not fit in 63 bits; use a smaller model, batch or context", a,
                        sign, b);
  }

  int64_t value_ = 0;
};

// The quotient rounded up, for a >= 0 and b > 0 whose sum does not overflow.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Rounds up to a multiple of `alignment`.
inline int64_t align_up(int64_t value, int64_t alignment) {
  return ((Size(value) + (alignment - 1)).value() / alignment) * alignment;
}

}  // namespace laptime
