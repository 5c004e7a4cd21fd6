// The GEMM on packed words of float32, and the types it takes.
#include "backend/cpu/gemm/tiles/tiles_gemm.h"

#include "backend/cpu/gemm/tiles/multiply.h"

namespace laptime::LAPTIME_ISA {

using gemm_tiles::FloatWords;

std::string tiles_refusal(const cpu::Gemm& gemm) {
  for (const cpu::GemmOperand* operand : {&gemm.a, &gemm.b, &gemm.bias, &gemm.addend}) {
    if (operand->present && operand->dtype != DType::kFloat32 && operand->dtype != DType::kBFloat16)
      return fmt::format("a {} operand", name_of(operand->dtype));
  }
  if (gemm.c_dtype != DType::kFloat32 && gemm.c_dtype != DType::kBFloat16)
    return fmt::format("a {} result", name_of(gemm.c_dtype));
  if (gemm.compute != DType::kFloat32 && gemm.compute != DType::kBFloat16)
    return fmt::format("operands rounded to {} first", name_of(gemm.compute));
  return "";
}

int64_t tiles_packed_bytes(const cpu::Gemm& gemm) { return gemm_tiles::prepacked_b_bytes<FloatWords>(gemm); }

void tiles_gemm(cpu::Team& team, const cpu::Gemm& gemm, bool packs_first) {
  gemm.compute == DType::kBFloat16 ? gemm_tiles::multiply_from<FloatWords, RoundedToBFloat16>(team, gemm, packs_first)
                                   : gemm_tiles::multiply_from<FloatWords, float>(team, gemm, packs_first);
}

}  // namespace laptime::LAPTIME_ISA
