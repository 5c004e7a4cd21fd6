// Kernels of the matrix products.
#include "backend/cpu/gemm/gemm_kernels.h"
#include "ops/matmul/matmul.h"

namespace laptime::LAPTIME_ISA {
namespace {

// Describes matmul (a, b[, addend]), or addmm (bias, a, b[, addend]), as a GEMM. Returns nothing if Gemm does not
// support the layout of the bias or the addend.
template <bool kBias>
std::optional<cpu::Gemm> gemm_of(const Attributes& attributes, std::span<const TensorView> in, const TensorView& out) {
  const ProductAttributes product = product_attributes(attributes);
  const TensorView& a = in[kBias ? 1 : 0];
  const TensorView& b = in[kBias ? 2 : 1];
  cpu::Gemm gemm;
  gemm.shape = cpu::gemm_shape(a.type.layout, b.type.layout);
  gemm.compute = product.compute_type(a.type.dtype, b.type.dtype);
  gemm.a = gemm_operand(a);
  gemm.b = gemm_operand(b);
  gemm.c_dtype = out.type.dtype;
  gemm.c = gemm_result(out);
  if (kBias && !set_gemm_bias(gemm, in[0])) return std::nullopt;
  if (product.addend && !set_gemm_addend(gemm, in.back())) return std::nullopt;
  return gemm;
}

}  // namespace

std::vector<Kernel> matmul_kernels() {
  std::vector<Kernel> kernels = gemm_kernels<gemm_of<false>>(kMatmul);
  for (Kernel& kernel : gemm_kernels<gemm_of<true>>(kAddmm)) kernels.push_back(std::move(kernel));
  return kernels;
}

}  // namespace laptime::LAPTIME_ISA
