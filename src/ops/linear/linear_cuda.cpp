// Kernel of the linear layer on a CUDA device.
#include "ops/linear/linear.h"

#include "ops/product_cuda.h"

namespace laptime::cuda {
namespace {

// (x [..., I], weight [O, I][, bias [O]][, addend [..., O]])
void launch(const KernelCall& call) {
  const ProductAttributes& product = call.attributes.as<LinearAttributes>().product;
  const bool bias = call.in.size() > 2 + (product.addend ? size_t{1} : 0);
  TensorView weight = call.in[1];
  weight.type.layout = permuted(weight.type.layout, {1, 0});
  launch_product(call, {.a = call.in[0],
                        .b = weight,
                        .bias = bias ? &call.in[2] : nullptr,
                        .addend = product.addend ? &call.in.back() : nullptr,
                        .c = call.out[0],
                        .compute = product.compute_type(call.in[0].type.dtype, weight.type.dtype)});
}

ProductMath product_math(const Signature& signature) {
  const ProductAttributes& product = signature.attributes.as<LinearAttributes>().product;
  return math_of_factors(product.compute_type(signature.in[0].dtype, signature.in[1].dtype));
}

}  // namespace

std::vector<Kernel> linear_kernels() {
  return {{.op = &kLinear, .name = "tiles", .launch = launch, .product_math = product_math}};
}

}  // namespace laptime::cuda
