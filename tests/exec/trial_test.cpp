// When kernels race, launches that would take long are timed with a smaller batch.
#include "exec/trial.h"

#include <gtest/gtest.h>

#include "ops/linear/linear.h"
#include "ops/matmul/matmul.h"
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"
#include "support/types.h"

namespace laptime {
namespace {

using test::floats;

Signature signature_of(const OpCard& op, const Attributes& attributes, std::vector<TensorType> in) {
  std::vector<TensorType> out = op.infer(attributes, in);
  return {&op, attributes, std::move(in), std::move(out)};
}

TEST(WithSmallerBatch, ReducesTheBatchOfALinearLayer) {
  const Signature whole = signature_of(kLinear, LinearAttributes{}, {floats({8, 64, 32}), floats({16, 32})});
  const Signature smaller = with_smaller_batch(whole, flops_of(whole) / 4);
  EXPECT_EQ(smaller.in[0].shape(), Shape({2, 64, 32}));
  EXPECT_EQ(smaller.in[1].shape(), Shape({16, 32}));
  EXPECT_EQ(smaller.out[0].shape(), Shape({2, 64, 16}));
  EXPECT_EQ(flops_of(smaller), flops_of(whole) / 4);
}

TEST(WithSmallerBatch, LeavesAtLeastOneSequence) {
  const Signature whole = signature_of(kLinear, LinearAttributes{}, {floats({8, 64, 32}), floats({16, 32})});
  EXPECT_EQ(with_smaller_batch(whole, 1).in[0].shape(), Shape({1, 64, 32}));
}

TEST(WithSmallerBatch, KeepsStrides) {
  const TensorType heads{DType::kFloat32, permuted(Layout::contiguous({6, 64, 4, 16}), {0, 2, 1, 3})};
  const Signature whole = signature_of(kScaledDotProductAttention, AttentionAttributes{}, {heads, heads, heads});
  const Signature smaller = with_smaller_batch(whole, flops_of(whole) / 3);
  for (const TensorType& in : smaller.in) {
    EXPECT_EQ(in.shape(), Shape({2, 4, 64, 16}));
    EXPECT_EQ(in.layout.strides, heads.layout.strides);
  }
}

TEST(WithSmallerBatch, KeepsASignatureWithLittleWork) {
  const Signature whole = signature_of(kLinear, LinearAttributes{}, {floats({8, 64, 32}), floats({16, 32})});
  EXPECT_EQ(with_smaller_batch(whole, flops_of(whole)).text(), whole.text());
}

TEST(WithSmallerBatch, KeepsAProductWithoutABatch) {
  const Signature whole = signature_of(kMatmul, ProductAttributes{}, {floats({64, 256}), floats({256, 32})});
  EXPECT_EQ(with_smaller_batch(whole, 1).text(), whole.text());
}

}  // namespace
}  // namespace laptime
