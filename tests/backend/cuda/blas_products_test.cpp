// The choice among the algorithms that cuBLASLt proposes, tested with the fake library of tests/fake_cuda.
#include "backend/cuda/libraries/blas_products.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace laptime::test {
namespace {

using cuda::BlasMatrix;
using cuda::BlasProduct;
using cuda::BlasProducts;

class Products : public testing::Test {
 protected:
  static BlasProduct proposal(int algorithm, bool any_order) {
    const BlasMatrix matrix{.dtype = DType::kFloat32, .leading = 8};
    return {.m = 8,
            .n = 8,
            .k = 8,
            .a = matrix,
            .b = matrix,
            .c = matrix,
            .d = matrix,
            .algorithm = algorithm,
            .any_order = any_order};
  }

  BlasProducts products_{cuda::find_blas()};
};

TEST_F(Products, RejectsAlgorithmIndexOutOfRange) {
  for (const bool any_order : {false, true}) {
    for (int algorithm = 0; algorithm < 3; ++algorithm) products_.prepare(proposal(algorithm, any_order));
    for (const int algorithm : {3, 20}) {
      try {
        products_.prepare(proposal(algorithm, any_order));
        FAIL();
      } catch (const cuda::MissingProposal& error) {
        EXPECT_EQ(
            std::string(error.what()),
            fmt::format("cuda: cuBLASLt proposes 3 algorithms for a product of 8 x 8 x 8; there is no algorithm {}; "
                        "name another kernel in a --kernels file",
                        algorithm + 1));
      }
    }
  }
}

// If cuBLASLt proposes no algorithm at all, the error must not say that the index is too large.
TEST_F(Products, RejectsProductWithoutProposals) {
  BlasProduct product = proposal(5, false);
  product.b.dtype = DType::kFloat16;  // the fake library rejects factors of different types
  try {
    products_.prepare(product);
    FAIL();
  } catch (const cuda::MissingProposal&) {
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cuBLASLt has no algorithm for a product of 8 x 8 x 8"));
  }
}

}  // namespace
}  // namespace laptime::test
