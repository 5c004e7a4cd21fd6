// Kernels of the linear layer on a CUDA device.
#include "ops/linear/linear.h"

#include "ops/product_cuda.h"

namespace laptime::cuda {
namespace {

// (x [..., I], weight [O, I][, bias [O]][, addend [..., O]])
Product product_of(const Attributes& attributes, std::span<const TensorView> in, std::span<const TensorView> out) {
  const ProductAttributes& product = attributes.as<LinearAttributes>().product;
  const bool bias = in.size() > 2 + (product.addend ? size_t{1} : 0);
  TensorView weight = in[1];
  weight.type.layout = permuted(weight.type.layout, {1, 0});
  return {.a = in[0],
          .b = weight,
          .bias = bias ? &in[2] : nullptr,
          .addend = product.addend ? &in.back() : nullptr,
          .c = out[0],
          .compute = product.compute_type(in[0].type.dtype, weight.type.dtype)};
}

}  // namespace

std::vector<Kernel> linear_kernels() { return product_kernels<product_of>(kLinear); }

}  // namespace laptime::cuda
