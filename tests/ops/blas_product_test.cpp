// Products that the cuBLASLt kernels must accept, and operands that they copy. Conformance tests do not check this,
// because they skip a library kernel that rejects a product. Also tests the conformance of products with aligned rows,
// which the cuBLASLt kernels split.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "ops/kernels_cuda.h"
#include "ops/linear/linear.h"
#include "ops/matmul/matmul.h"
#include "support/conformance.h"
#include "support/products.h"

namespace laptime::test {
namespace {

constexpr DType kNarrow = DType::kBFloat16;
constexpr DType kWide = DType::kFloat32;

const Kernel& kernel_of(const OpCard& op, const std::string& name) {
  static const std::vector<Kernel> kKernels = cuda_kernels();
  const auto found =
      std::ranges::find_if(kKernels, [&](const Kernel& kernel) { return kernel.op == &op && kernel.name == name; });
  EXPECT_NE(found, kKernels.end()) << name;
  return *found;
}

Signature signature_of(const OpCard& op, const Attributes& attributes, const std::vector<TensorType>& in) {
  return {&op, attributes, in, op.infer(attributes, in)};
}

// The residual connection of GPT-2 in compile mode: autocast rounds the float32 bias, but not the addend.
TEST(BlasProduct, AcceptsARoundedBiasWithAFloat32Result) {
  const Signature signature =
      signature_of(kLinear, LinearAttributes{LinearForm::kLinear, {.compute = kNarrow, .output = {}, .addend = true}},
                   {contiguous_type(kNarrow, {2, 16, 64}), contiguous_type(kNarrow, {32, 64}),
                    contiguous_type(kWide, {32}), contiguous_type(kWide, {2, 16, 32})});
  EXPECT_EQ(signature.out[0].dtype, kWide);
  EXPECT_EQ(kernel_of(kLinear, "cublaslt_1").refusal(signature), "");
  EXPECT_EQ(kernel_of(kLinear, "cublaslt_1").workspace_bytes(signature), 32 * 2 + 32 * 4);  // bfloat16 and float32 bias
  EXPECT_NE(kernel_of(kLinear, "cublaslt_padded_1").refusal(signature), "");
}

// Bytes of a copy whose rows have `columns` elements of `size` bytes and begin at multiples of 64 elements.
int64_t padded_bytes(int64_t rows, int64_t columns, int64_t size) {
  return align_up(((rows - 1) * 64 + columns) * size, 64);
}

// The product that computes the logits of an odd vocabulary, and the two products of its backward pass: one reads the
// gradient of the logits by rows, the other by columns. Copies pad the vocabulary axis to a multiple of 64.
TEST(BlasProduct, PadsOperandsWithUnalignedRows) {
  constexpr int64_t kRows = 64, kWidth = 32, kWords = 57;
  const TensorType x = contiguous_type(kNarrow, {kRows, kWidth});
  const TensorType weight = contiguous_type(kNarrow, {kWords, kWidth});
  const TensorType grad = contiguous_type(kNarrow, {kRows, kWords});
  const TensorType by_columns{kNarrow, permuted(grad.layout, {1, 0})};
  const Kernel& padded = kernel_of(kMatmul, "cublaslt_padded_3");
  const Kernel& direct = kernel_of(kMatmul, "cublaslt_8");
  struct Case {
    ProductAttributes attributes;
    std::vector<TensorType> in;
    int64_t copied;
  };
  const std::vector<Case> cases{{{.compute = {}, .output = kWide},
                                 {x, {kNarrow, permuted(weight.layout, {1, 0})}},
                                 padded_bytes(64, kWidth, 2) + padded_bytes(kRows, 64, 4)},
                                {{}, {grad, weight}, padded_bytes(kRows, 64, 2) + padded_bytes(64, kWidth, 2)},
                                {{}, {by_columns, x}, padded_bytes(64, kRows, 2) + padded_bytes(64, kWidth, 2)}};
  for (const auto& [attributes, in, copied] : cases) {
    const Signature signature = signature_of(kMatmul, attributes, in);
    EXPECT_EQ(padded.refusal(signature), "") << signature.text();
    EXPECT_EQ(padded.workspace_bytes(signature), copied) << signature.text();
    EXPECT_EQ(direct.refusal(signature), "") << signature.text();
    EXPECT_EQ(direct.workspace_bytes(signature), 0) << signature.text();
  }
}

// Padded logits are read or written in place up to the last multiple of 16 bytes. The remaining column or row is copied
// and padded: a column to 8 columns, in rows that begin 64 elements apart, and a row to 8 rows.
TEST(BlasProduct, SplitsProductsWithAlignedRows) {
  constexpr int64_t kRows = 64, kWidth = 32, kWords = 257;
  const TensorType x = contiguous_type(kNarrow, {kRows, kWidth});
  const TensorType weight = contiguous_type(kNarrow, {kWords, kWidth});
  const TensorType grad = padded_type(kNarrow, {kRows, kWords});
  struct Case {
    ProductAttributes attributes;
    std::vector<TensorType> in;
    int64_t copied;
  };
  const std::vector<Case> cases{
      {{.compute = {}, .output = {}, .padded = true},
       {x, {kNarrow, permuted(weight.layout, {1, 0})}},
       padded_bytes(kWidth, 8, 2) + padded_bytes(kRows, 8, 2)},
      {{}, {grad, weight}, padded_bytes(kRows, 8, 2) + padded_bytes(8, kWidth, 2)},
      {{}, {{kNarrow, permuted(grad.layout, {1, 0})}, x}, padded_bytes(kRows, 8, 2) + padded_bytes(8, kWidth, 2)}};
  for (const auto& [attributes, in, copied] : cases) {
    const Signature signature = signature_of(kMatmul, attributes, in);
    const Kernel& kernel = kernel_of(kMatmul, "cublaslt_padded_3");
    EXPECT_EQ(kernel.refusal(signature), "") << signature.text();
    EXPECT_EQ(kernel.workspace_bytes(signature), copied) << signature.text();
  }
}

// In each case, the kernels split the axis whose size is not a multiple of 16 bytes: k, m or, for a padded result, n.
std::vector<ConformanceCase> aligned_rows(const OpCard& op) {
  std::vector<ConformanceCase> rows;
  const std::vector<std::array<int64_t, 3>> sizes{{24, 16, 21}, {21, 16, 24}, {24, 21, 16}, {24, 65, 16}, {8, 8, 515}};
  for (const bool padded : {false, true}) {
    for (const auto& [m, n, k] : sizes) {
      ConformanceCase row{.op = &op,
                          .attributes = ProductAttributes{.compute = {}, .output = {}, .padded = padded},
                          .arrangements = {Arrangement::kAlignedRows, Arrangement::kAlignedColumns},
                          .may_refuse = {Arrangement::kAlignedRows, Arrangement::kAlignedColumns},
                          .slack = 24,
                          .plain = &op == &kMatmul ? plain_matmul : plain_addmm};
      if (&op == &kAddmm) row.inputs.push_back({.shape = {n}});
      row.inputs.push_back({.shape = {m, k}});
      row.inputs.push_back({.shape = {k, n}});
      rows.push_back(row);
    }
  }
  return rows;
}

LAPTIME_CONFORMANCE(MatmulAligned, aligned_rows(kMatmul));
LAPTIME_CONFORMANCE(AddmmAligned, aligned_rows(kAddmm));

// A factor that must be cast is cast to padded rows, even if its original rows are aligned.
TEST(BlasProduct, CastsToPaddedRows) {
  const Signature signature = signature_of(kMatmul, ProductAttributes{.compute = kNarrow, .output = {}},
                                           {contiguous_type(kWide, {8, 36}), contiguous_type(kNarrow, {36, 16})});
  EXPECT_EQ(kernel_of(kMatmul, "cublaslt_1").workspace_bytes(signature), 8 * 36 * 2);
  EXPECT_EQ(kernel_of(kMatmul, "cublaslt_padded_1").refusal(signature), "");
  EXPECT_EQ(kernel_of(kMatmul, "cublaslt_padded_1").workspace_bytes(signature),
            padded_bytes(8, 40, 2) + padded_bytes(40, 16, 2));
}

}  // namespace
}  // namespace laptime::test
