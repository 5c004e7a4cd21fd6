// Products of float32 as bfloat16 terms in plain C++, as amx_bf16x6 computes them: the same split and order, and the
// tile instruction of AMX by its definition.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/gemm/amx/bfloat16_terms.h"

namespace laptime::test {

// c [m, n] = a [m, k] b [k, n], row-major, as the sum of the given products of the first `terms` terms.
std::vector<float> split_product(std::span<const float> a, std::span<const float> b, int64_t m, int64_t n, int64_t k,
                                 std::span<const cpu::TermPair> pairs, int terms = 3);

}  // namespace laptime::test
