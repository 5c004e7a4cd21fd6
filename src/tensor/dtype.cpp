// Names and promotion of number types.
#include "tensor/dtype.h"

#include <array>
#include <utility>

namespace laptime {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 7> kNames{{{DType::kFloat32, "float32"},
                                                                    {DType::kFloat64, "float64"},
                                                                    {DType::kBFloat16, "bfloat16"},
                                                                    {DType::kFloat16, "float16"},
                                                                    {DType::kInt32, "int32"},
                                                                    {DType::kInt64, "int64"},
                                                                    {DType::kBool, "bool"}}};

}  // namespace

std::string_view name_of(DType dtype) {
  for (const auto& [value, name] : kNames) {
    if (value == dtype) return name;
  }
  return "?";
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
  if (!is_floating(a)) {
    if (a == DType::kBool) return b;
    if (b == DType::kBool) return a;
    return DType::kInt64;
  }
  if (a == DType::kFloat64 || b == DType::kFloat64) return DType::kFloat64;
  return DType::kFloat32;  // float32 with a 16-bit type, or bfloat16 with float16
}

}  // namespace laptime
