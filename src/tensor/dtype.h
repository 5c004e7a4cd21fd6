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

std::string_view name_of(DType dtype);  // "float32", "bfloat16", ... as PyTorch prints them
std::optional<DType> parse_dtype(std::string_view name);

// The type in which two operands meet: the wider floating type, a floating type over an integer (torch.promote_types
// for the types we have; bfloat16 with float16 gives float32).
DType promote(DType a, DType b);

// bfloat16: the upper half of a float32, rounded to nearest even; NaN stays NaN.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit constexpr BFloat16(float value) {
    const auto wide = std::bit_cast<uint32_t>(value);
    const bool nan = (wide & 0x7FFFFFFFU) > 0x7F800000U;
    bits = nan ? static_cast<uint16_t>((wide >> 16U) | 0x40U) : static_cast<uint16_t>((wide + 0x7FFFU + ((wide >> 16U) & 1U)) >> 16U);
  }
  explicit constexpr operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16U); }
};

}  // namespace laptime
