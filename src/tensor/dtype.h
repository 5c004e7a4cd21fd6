// Number types of tensor elements.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

namespace laptime {

enum class DType : uint8_t { kFloat32, kFloat64, kBFloat16, kFloat16, kInt32, kInt64, kBool };

// Bytes of one element.
constexpr int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kInt64: return 8;
    case DType::kFloat32:
    case DType::kInt32: return 4;
    case DType::kBFloat16:
    case DType::kFloat16: return 2;
    case DType::kBool: return 1;
  }
  return 0;
}

constexpr bool is_floating(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

// True for the types to which autocast casts the operands of matrix products.
constexpr bool is_16_bit_float(DType dtype) { return dtype == DType::kBFloat16 || dtype == DType::kFloat16; }

std::string_view name_of(DType dtype);  // "float32", "bfloat16", ...: PyTorch's names without "torch."
// The name of the type, or "as_input" if there is none: the op then uses the type of its input.
inline std::string_view name_of(std::optional<DType> dtype) { return dtype ? name_of(*dtype) : "as_input"; }

// The promoted type of two operands, as in torch.promote_types: the wider of two floating-point types (float32 for
// bfloat16 with float16), the only floating-point type, or else the wider integer type (bool is the narrowest).
DType promote(DType a, DType b);

// True if a cast from `from` to `to` only rounds: from float32, float64 or an absent type to a 16-bit float.
constexpr bool only_rounds(std::optional<DType> from, DType to) {
  const bool wide = !from || *from == DType::kFloat32 || *from == DType::kFloat64;
  return wide && is_16_bit_float(to);
}

// bfloat16: the upper half of a float32, rounded to nearest even; NaN stays NaN.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit constexpr BFloat16(float value) {
    const auto wide = std::bit_cast<uint32_t>(value);
    const bool nan = (wide & 0x7FFFFFFFU) > 0x7F800000U;
    bits = nan ? static_cast<uint16_t>((wide >> 16U) | 0x40U)
               : static_cast<uint16_t>((wide + 0x7FFFU + ((wide >> 16U) & 1U)) >> 16U);
  }
  explicit constexpr operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16U); }
};

// float16 (IEEE binary16), rounded to nearest even; numbers that are too large become infinite.
struct Float16 {
  uint16_t bits = 0;

  Float16() = default;
  explicit constexpr Float16(float value) {
    const auto wide = std::bit_cast<uint32_t>(value);
    const uint32_t size = wide & 0x7FFFFFFFU;
    uint32_t half = 0;
    if (size > 0x7F800000U) {
      half = 0x7E00U | ((size >> 13U) & 0x3FFU);  // NaN stays NaN
    } else if (size >= 0x477FF000U) {             // from 65520 on, rounds to infinity; the largest number is 65504
      half = 0x7C00U;
    } else if (size < 0x38800000U) {  // below 2^-14: subnormal; adding 1/2 rounds to a multiple of 2^-24
      half = std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5F) - std::bit_cast<uint32_t>(0.5F);
    } else {
      half = (size + 0xFFFU + ((size >> 13U) & 1U) - (112U << 23U)) >> 13U;
    }
    bits = static_cast<uint16_t>(((wide >> 16U) & 0x8000U) | half);
  }
  explicit constexpr operator float() const {
    const uint32_t sign = (bits & 0x8000U) << 16U;
    const uint32_t exponent = (bits >> 10U) & 0x1FU;
    const uint32_t mantissa = bits & 0x3FFU;
    if (exponent == 0) {
      const float size = static_cast<float>(mantissa) * 0x1p-24F;
      return sign == 0 ? size : -size;
    }
    const uint32_t wide = exponent == 31 ? 0xFFU : exponent + 112;
    return std::bit_cast<float>(sign | (wide << 23U) | (mantissa << 13U));
  }
};

}  // namespace laptime
