// The GEMM on packed words of float32, and the types that it supports.
#include "backend/cpu/gemm/tiles/tiles_gemm.h"

#include <optional>

#include "backend/cpu/gemm/tiles/multiply.h"

namespace laptime::LAPTIME_ISA {

using gemm_tiles::FloatWords;

std::string tiles_refusal(const cpu::Gemm& gemm) {
  std::optional<DType> narrow;  // the type of all operands that are not float32
  const auto takes = [&narrow](DType dtype) {
    if (dtype == DType::kFloat32) return true;
    if (!is_16_bit_float(dtype) || narrow.value_or(dtype) != dtype) return false;
    narrow = dtype;
    return true;
  };
  for (const cpu::GemmOperand* operand : {&gemm.a, &gemm.b, &gemm.bias, &gemm.addend}) {
    if (operand->present && !takes(operand->dtype)) return fmt::format("an operand is {}", name_of(operand->dtype));
  }
  if (!takes(gemm.c_dtype)) return fmt::format("the result is {}", name_of(gemm.c_dtype));
  if (!takes(gemm.compute)) return fmt::format("this kernel cannot round the operands to {}", name_of(gemm.compute));
  return "";
}

void tiles_gemm(cpu::Team& team, const cpu::Gemm& gemm) {
  using gemm_tiles::multiply_from;
  const bool has_float16 = gemm.a.dtype == DType::kFloat16 || gemm.b.dtype == DType::kFloat16;
  switch (gemm.compute) {
    case DType::kBFloat16: return multiply_from<FloatWords, BFloat16, RoundedTo<BFloat16>>(team, gemm);
    case DType::kFloat16: return multiply_from<FloatWords, Float16, RoundedTo<Float16>>(team, gemm);
    default: break;
  }
  has_float16 ? multiply_from<FloatWords, Float16, float>(team, gemm)
              : multiply_from<FloatWords, BFloat16, float>(team, gemm);
}

}  // namespace laptime::LAPTIME_ISA
