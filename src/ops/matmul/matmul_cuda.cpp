// Kernels of the matrix products on a CUDA device.
#include "ops/matmul/matmul.h"

#include "ops/product_cuda.h"

namespace laptime::cuda {
namespace {

// (a, b[, addend]), or with a bias (bias, a, b[, addend]).
template <bool kBias>
void launch(const KernelCall& call) {
  const ProductAttributes product = product_attributes(call.attributes);
  const TensorView& a = call.in[kBias ? 1 : 0];
  const TensorView& b = call.in[kBias ? 2 : 1];
  launch_product(call, {.a = a,
                        .b = b,
                        .bias = kBias ? &call.in[0] : nullptr,
                        .addend = product.addend ? &call.in.back() : nullptr,
                        .c = call.out[0],
                        .compute = product.compute_type(a.type.dtype, b.type.dtype)});
}

template <bool kBias>
ProductMath product_math(const Signature& signature) {
  const ProductAttributes product = product_attributes(signature.attributes);
  return math_of_factors(product.compute_type(signature.in[kBias ? 1 : 0].dtype, signature.in[kBias ? 2 : 1].dtype));
}

}  // namespace

std::vector<Kernel> matmul_kernels() {
  return {{.op = &kMatmul, .name = "tiles", .launch = launch<false>, .product_math = product_math<false>},
          {.op = &kAddmm, .name = "tiles", .launch = launch<true>, .product_math = product_math<true>}};
}

}  // namespace laptime::cuda
