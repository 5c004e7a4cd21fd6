// Matrix products: plain, batched, and with a bias. Transposition is a matter of strides.
#pragma once

#include "graph/builder.h"

namespace laptime {

// (a [M, K], b [K, N]) -> [M, N], or batched (a [B, M, K], b [B, K, N]) -> [B, M, N]; the result is contiguous.
// Inputs may be transposed: one of the last two axes has stride 1.
extern const OpCard kMatmul;
// (bias [N], a [M, K], b [K, N]) -> a b + bias, [M, N].
extern const OpCard kAddmm;

ValueId matmul(Builder& build, ValueId a, ValueId b);
ValueId addmm(Builder& build, ValueId bias, ValueId a, ValueId b);

std::span<const OpCard* const> matmul_cards();

}  // namespace laptime
