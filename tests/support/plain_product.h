// Matrix products by plain loops of float32: what the errors of kernels are compared with.
#pragma once

#include <span>
#include <vector>

#include "graph/op.h"

namespace laptime::test {

// The result by row-major index, before it is rounded to the type of the output, of a signature of
//   plain_matmul  kMatmul (a, b[, addend])
//   plain_addmm   kAddmm (bias, a, b[, addend])
//   plain_linear  kLinear (x, weight[, bias][, addend])
// Products are added one after the other in the order of K; factors and bias are rounded to the type that the product
// is computed in.
std::vector<double> plain_matmul(const Signature& signature, std::span<const TensorView> in);
std::vector<double> plain_addmm(const Signature& signature, std::span<const TensorView> in);
std::vector<double> plain_linear(const Signature& signature, std::span<const TensorView> in);

}  // namespace laptime::test
