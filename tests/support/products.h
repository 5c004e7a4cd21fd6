// Matrix products in plain C++, used to check the results of kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/gemm/amx/bfloat16_terms.h"
#include "graph/op.h"

namespace laptime::test {

// Matrix products computed by plain float32 loops. Each function returns the row-major result before it is rounded to
// the output type, and takes the signature of one op:
//   plain_matmul  kMatmul (a, b[, addend])
//   plain_addmm   kAddmm (bias, a, b[, addend])
//   plain_linear  kLinear (x, weight[, bias][, addend])
// Terms are added in the order of K. Factors and bias are first rounded to the type in which the product is computed.
std::vector<double> plain_matmul(const Signature& signature, std::span<const TensorView> in);
std::vector<double> plain_addmm(const Signature& signature, std::span<const TensorView> in);
std::vector<double> plain_linear(const Signature& signature, std::span<const TensorView> in);

// A float32 product computed from bfloat16 terms, with the split and the order of amx_bf16x6. The AMX tile instruction
// is emulated. c [m, n] = a [m, k] b [k, n], row-major, as the sum of the products of the term pairs in `pairs`.
// Factors are split into three terms; only the first `terms` of them are used, and the others are 0.
std::vector<float> split_product(std::span<const float> a, std::span<const float> b, int64_t m, int64_t n, int64_t k,
                                 std::span<const cpu::TermPair> pairs, int terms = 3);

}  // namespace laptime::test
