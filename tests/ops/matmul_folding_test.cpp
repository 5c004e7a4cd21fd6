// Matrix products with folded casts and an addend match products with separate casts and sums.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/team.h"
#include "base/random.h"
#include "ops/matmul/matmul.h"
#include "support/conformance.h"
#include "support/kernel_devices.h"

namespace laptime::test {
namespace {

std::vector<ConformanceCase> matmul_folding_rows(const OpCard& op, const ProductAttributes& product) {
  std::vector<ConformanceCase> rows;
  const std::vector<std::array<int64_t, 3>> sizes{{1, 1, 1}, {5, 3, 7}, {17, 65, 33}, {33, 1, 20}, {15, 9, 385}};
  for (const auto& [m, n, k] : sizes) {
    ConformanceCase row{.op = &op,
                        .attributes = product,
                        .arrangements = {Arrangement::kContiguous, Arrangement::kTransposed, Arrangement::kStrided},
                        .may_refuse = all_arrangements(),
                        .slack = 24,
                        .absolute = 24};
    if (&op == &kAddmm) row.inputs.push_back({.shape = {n}});
    row.inputs.push_back({.shape = {m, k}});
    row.inputs.push_back({.shape = {k, n}});
    if (product.addend) row.inputs.push_back({.shape = {m, n}, .dtype = DType::kFloat32});
    rows.push_back(row);
  }
  return rows;
}

LAPTIME_CONFORMANCE(MatmulRounded,
                    matmul_folding_rows(kMatmul, {.compute = DType::kBFloat16, .output = {}, .addend = false}));
LAPTIME_CONFORMANCE(MatmulWide,
                    matmul_folding_rows(kMatmul, {.compute = {}, .output = DType::kFloat32, .addend = false}));
LAPTIME_CONFORMANCE(MatmulNarrow,
                    matmul_folding_rows(kMatmul, {.compute = {}, .output = DType::kBFloat16, .addend = true}));
LAPTIME_CONFORMANCE(MatmulAddend, matmul_folding_rows(kMatmul, {.compute = {}, .output = {}, .addend = true}));
LAPTIME_CONFORMANCE(AddmmFolded,
                    matmul_folding_rows(kAddmm, {.compute = DType::kBFloat16, .output = {}, .addend = true}));

std::vector<Kernel> folding_kernels() {
  std::vector<Kernel> kernels;
  for (const auto& [kernel, device] : kernels_to_check(kMatmul)) {
    if (device == &on_cpu() && kernel.name.starts_with("tiles_")) kernels.push_back(kernel);
  }
  return kernels;
}

class MatmulFolding : public testing::TestWithParam<Kernel> {};
INSTANTIATE_TEST_SUITE_P(Kernels, MatmulFolding, testing::ValuesIn(folding_kernels()),
                         [](const auto& parameter) { return parameter.param.name; });

struct Tensor {
  Tensor(DType dtype, const Layout& layout) : type{dtype, layout}, tensor(type) {}
  TensorType type;
  GuardedTensor tensor;
  TensorView view() { return tensor.view(); }
};

// A matrix of random numbers, rounded to bfloat16 if `rounded`.
Tensor random_matrix(DType dtype, int64_t rows, int64_t columns, bool transposed, bool rounded, uint64_t seed) {
  const Layout layout =
      transposed ? permuted(Layout::contiguous({columns, rows}), {1, 0}) : Layout::contiguous({rows, columns});
  Tensor matrix(dtype, layout);
  for (int64_t i = 0; i < rows * columns; ++i) {
    const auto value =
        static_cast<float>(static_cast<double>(hash_combine(seed, static_cast<uint64_t>(i)) >> 40U) * 0x1p-23 - 1);
    matrix.view().put(i, rounded ? static_cast<float>(BFloat16(value)) : value);
  }
  return matrix;
}

std::vector<std::byte> product(const Kernel& kernel, const ProductAttributes& attributes,
                               const std::vector<Tensor*>& in, cpu::Team& team) {
  std::vector<TensorType> types;
  std::vector<TensorView> views;
  for (Tensor* tensor : in) {
    types.push_back(tensor->type);
    views.push_back(tensor->view());
  }
  const Signature signature{&kMatmul, attributes, types, kMatmul.infer(attributes, types)};
  if (!kernel.refusal(signature).empty()) return {};
  GuardedTensor out(signature.out[0]);
  GuardedTensor workspace(contiguous_type(DType::kBool, {kernel.workspace_bytes(signature)}));
  const TensorView out_view = out.view();
  if (kernel.prepare != nullptr) kernel.prepare(signature, team);
  kernel.launch({kMatmul, signature.attributes, views, {&out_view, 1}, workspace.view().data, team});
  EXPECT_TRUE(out.guards_intact() && workspace.guards_intact());
  return {out.bytes().begin(), out.bytes().end()};
}

constexpr int64_t kM = 100, kN = 133, kK = 1001;

TEST_P(MatmulFolding, FoldedOperandCastMatchesSeparateCast) {
  cpu::Team team(2);
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      Tensor wide_a = random_matrix(DType::kFloat32, kM, kK, a_transposed, false, 1);
      Tensor wide_b = random_matrix(DType::kFloat32, kK, kN, b_transposed, false, 2);
      Tensor a = random_matrix(DType::kBFloat16, kM, kK, a_transposed, true, 1);
      Tensor b = random_matrix(DType::kBFloat16, kK, kN, b_transposed, true, 2);
      const ProductAttributes folded{.compute = DType::kBFloat16, .output = {}, .addend = false};
      const std::vector<std::byte> cast = product(GetParam(), {}, {&a, &b}, team);
      if (cast.empty()) GTEST_SKIP() << "the kernel rejects these operands";
      EXPECT_TRUE(product(GetParam(), folded, {&wide_a, &wide_b}, team) == cast);
      EXPECT_TRUE(product(GetParam(), folded, {&a, &wide_b}, team) == cast);
      EXPECT_TRUE(product(GetParam(), folded, {&wide_a, &b}, team) == cast);
    }
  }
}

// The float32 sums are not rounded to bfloat16, so kernels that widen bfloat16 give the bits of a float32 product.
TEST_P(MatmulFolding, FoldedResultCastSkipsRounding) {
  cpu::Team team(2);
  Tensor a = random_matrix(DType::kBFloat16, kM, kK, true, true, 1);
  Tensor b = random_matrix(DType::kBFloat16, kK, kN, false, true, 2);
  Tensor wide_a = random_matrix(DType::kFloat32, kM, kK, true, true, 1);
  Tensor wide_b = random_matrix(DType::kFloat32, kK, kN, false, true, 2);
  const std::vector<std::byte> result =
      product(GetParam(), {.compute = {}, .output = DType::kFloat32, .addend = false}, {&a, &b}, team);
  const std::vector<std::byte> wide = product(GetParam(), {}, {&wide_a, &wide_b}, team);
  if (result.empty()) GTEST_SKIP() << "the kernel rejects these operands";
  EXPECT_EQ(result.size(), static_cast<size_t>(kM * kN * 4));
  EXPECT_TRUE(wide.empty() || result == wide);
}

TEST_P(MatmulFolding, ResultMayOverwriteTheAddend) {
  cpu::Team team(2);
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    Tensor a = random_matrix(dtype, kM, kK, false, true, 1);
    Tensor b = random_matrix(dtype, kK, kN, false, true, 2);
    Tensor addend = random_matrix(dtype, kM, kN, false, true, 3);
    const ProductAttributes attributes{.compute = {}, .output = {}, .addend = true};
    const std::vector<std::byte> apart = product(GetParam(), attributes, {&a, &b, &addend}, team);
    if (apart.empty()) continue;
    const TensorView views[] = {a.view(), b.view(), addend.view()};
    const Attributes held = attributes;
    const Signature signature{&kMatmul, held, {a.view().type, b.view().type, addend.view().type}, {addend.view().type}};
    if (GetParam().prepare != nullptr) GetParam().prepare(signature, team);
    GetParam().launch({kMatmul, held, views, {&views[2], 1}, nullptr, team});
    EXPECT_TRUE(std::ranges::equal(addend.tensor.bytes(), apart));
  }
}

// Compares with float64, with sizes that are not divisible by any block size.
TEST_P(MatmulFolding, IsCloseToFloat64) {
  cpu::Team team(2);
  const std::vector<std::array<int64_t, 3>> sizes{
      {7, 33, 100}, {33, 7, 10007}, {100, 1, 33}, {1, 10007, 7}, {7, 100, 1}};
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const auto& [m, n, k] : sizes) {
      for (const int layout : {0, 1, 2}) {  // NN, NT, TN
        Tensor a = random_matrix(dtype, m, k, layout == 2, dtype == DType::kBFloat16, 1);
        Tensor b = random_matrix(dtype, k, n, layout == 1, dtype == DType::kBFloat16, 2);
        std::vector<std::byte> result = product(GetParam(), {}, {&a, &b}, team);
        if (result.empty()) continue;
        const TensorView got{result.data(), contiguous_type(dtype, {m, n})};
        double error = 0;
        double norm = 0;
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t l = 0; l < k; ++l) sum += a.view().at(i * k + l) * b.view().at(l * n + j);
            error += std::pow(got.at(i * n + j) - sum, 2);
            norm += sum * sum;
          }
        }
        EXPECT_LE(std::sqrt(error / norm), dtype == DType::kFloat32 ? 1e-5 : 8e-3) << m << " " << n << " " << k;
      }
    }
  }
}

TEST(MatmulAttributes, FoldOnlyCompatibleCasts) {
  EXPECT_EQ(Attributes(ProductAttributes{}).text(), Attributes().text());
  const Attributes in = *kMatmul.fold_input_cast({}, 1, DType::kBFloat16);
  EXPECT_EQ(in.text(), "compute=bfloat16");
  EXPECT_EQ(kMatmul.fold_output_cast(in, 0, DType::kFloat32)->text(), "compute=bfloat16 output=float32");
  EXPECT_FALSE(kMatmul.fold_input_cast({}, 2, DType::kBFloat16));
  EXPECT_FALSE(kMatmul.fold_input_cast(in, 0, DType::kFloat32));
  EXPECT_FALSE(kMatmul.fold_input_cast({}, 0, DType::kFloat64));
}

}  // namespace
}  // namespace laptime::test
