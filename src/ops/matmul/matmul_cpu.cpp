// Matrix products on the CPU: oneDNN's and our own, as kernels.
#include "backend/cpu/gemm/gemm_kernels.h"
#include "ops/matmul/matmul.h"

namespace laptime::LAPTIME_ISA {
namespace {

// Of matmul (a, b[, addend]) and of addmm (bias, a, b[, addend]).
template <bool kBias>
std::optional<cpu::Gemm> product(const Attributes& attributes, std::span<const TensorView> in, const TensorView& out) {
  const ProductAttributes how = product_attributes(attributes);
  const TensorView& a = in[kBias ? 1 : 0];
  const TensorView& b = in[kBias ? 2 : 1];
  cpu::Gemm gemm;
  gemm.shape = cpu::gemm_shape(a.type.layout, b.type.layout);
  gemm.compute = how.compute_type(a.type.dtype, b.type.dtype);
  gemm.a = gemm_operand(a);
  gemm.b = gemm_operand(b);
  gemm.c_dtype = out.type.dtype;
  gemm.c = gemm_result(out);
  if (kBias && !set_gemm_bias(gemm, in[0])) return std::nullopt;
  if (how.addend && !set_gemm_addend(gemm, in.back())) return std::nullopt;
  return gemm;
}

}  // namespace

std::vector<Kernel> matmul_kernels() {
  std::vector<Kernel> kernels = gemm_kernels<product<false>>(kMatmul);
  for (Kernel& kernel : gemm_kernels<product<true>>(kAddmm)) kernels.push_back(std::move(kernel));
  return kernels;
}

}  // namespace laptime::LAPTIME_ISA
