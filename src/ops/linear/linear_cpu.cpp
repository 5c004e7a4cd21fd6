// Kernels of the linear layer: the matrix products of the CPU backend.
#include "backend/cpu/gemm/gemm_kernels.h"
#include "ops/linear/linear.h"

namespace laptime::LAPTIME_ISA {
namespace {

// Describes (x [..., I], weight [O, I]) as a product [rows, I] x [I, O]. Returns nothing if Gemm does not support the
// layout of x, the bias or the addend.
std::optional<cpu::Gemm> gemm_of(const Attributes& attributes, std::span<const TensorView> in, const TensorView& out) {
  const ProductAttributes& product = attributes.as<LinearAttributes>().product;
  const TensorView& x = in[0];
  const TensorView& weight = in[1];
  const int64_t inner = x.shape().back();
  const std::optional<Layout> rows = reshaped(x.type.layout, {x.numel() / inner, inner});
  if (!rows) return std::nullopt;
  cpu::Gemm gemm;
  gemm.shape = cpu::gemm_shape(*rows, permuted(weight.type.layout, {1, 0}));
  gemm.compute = product.compute_type(x.type.dtype, weight.type.dtype);
  gemm.a = gemm_operand(x);
  gemm.b = gemm_operand(weight);
  gemm.c_dtype = out.type.dtype;
  gemm.c = gemm_result(out);
  if (in.size() > 2 + (product.addend ? size_t{1} : 0) && !set_gemm_bias(gemm, in[2])) return std::nullopt;
  if (product.addend && !set_gemm_addend(gemm, in.back())) return std::nullopt;
  return gemm;
}

}  // namespace

std::vector<Kernel> linear_kernels() { return gemm_kernels<gemm_of>(kLinear); }

}  // namespace laptime::LAPTIME_ISA
