// Kernels of the matrix products on a CUDA device.
#include "ops/matmul/matmul.h"

#include "ops/product_cuda.h"

namespace laptime::cuda {
namespace {

// (a, b[, addend]), or with a bias (bias, a, b[, addend]).
template <bool kBias>
Product product_of(const Attributes& attributes, std::span<const TensorView> in, std::span<const TensorView> out) {
  const ProductAttributes product = product_attributes(attributes);
  const TensorView& a = in[kBias ? 1 : 0];
  const TensorView& b = in[kBias ? 2 : 1];
  return {.a = a,
          .b = b,
          .bias = kBias ? &in[0] : nullptr,
          .addend = product.addend ? &in.back() : nullptr,
          .c = out[0],
          .compute = product.compute_type(a.type.dtype, b.type.dtype)};
}

}  // namespace

std::vector<Kernel> matmul_kernels() {
  std::vector<Kernel> kernels = product_kernels<product_of<false>>(kMatmul);
  for (Kernel& kernel : product_kernels<product_of<true>>(kAddmm)) kernels.push_back(std::move(kernel));
  return kernels;
}

}  // namespace laptime::cuda
