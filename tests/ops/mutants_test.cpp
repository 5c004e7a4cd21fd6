// Checks that the kernel tests reject kernels with errors that are typical of optimized kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "backend/cuda/libraries/blas.h"
#include "base/isa.h"
#include "ops/gelu/gelu.h"
#include "ops/kernels_cpu.h"
#include "ops/matmul/matmul.h"
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"
#include "support/conformance.h"
#include "support/products.h"

namespace laptime::test {
namespace {

using testing::HasSubstr;

// A float32 product whose factors are each split into `kTerms` bfloat16 terms. Omits the pair of terms with index
// `kPair` in kTermPairs, unless `kPair` is -1.
template <int kTerms, int kPair>
void launch_split(const KernelCall& call) {
  const Shape& a = call.in[0].shape();
  const int64_t n = call.in[1].shape()[1];
  std::vector<cpu::TermPair> pairs(cpu::kTermPairs<3, 3>.begin(), cpu::kTermPairs<3, 3>.end());
  if (kPair >= 0) pairs.erase(pairs.begin() + kPair);
  const auto floats = [](const TensorView& view) {
    return std::span<const float>(view.as<const float>(), static_cast<size_t>(view.numel()));
  };
  const std::vector<float> c = split_product(floats(call.in[0]), floats(call.in[1]), a[0], n, a[1], pairs, kTerms);
  std::copy(c.begin(), c.end(), call.out[0].as<float>());
}

std::string error_of_split(void (*launch)(const KernelCall&), int64_t k) {
  const ConformanceCase row{
      .op = &kMatmul, .inputs = {{.shape = {17, k}}, {.shape = {k, 33}}}, .slack = 24, .plain = plain_matmul};
  return conformance_error(row, DType::kFloat32, {.op = &kMatmul, .name = "split", .launch = launch});
}

TEST(ProductTolerance, AcceptsThreeBFloat16Terms) {
  for (const int64_t k : {1, 7, 33, 385}) EXPECT_EQ(error_of_split(launch_split<3, -1>, k), "") << k;
}

TEST(ProductTolerance, RejectsTwoBFloat16Terms) {
  for (const int64_t k : {1, 7, 33, 385}) EXPECT_NE(error_of_split(launch_split<2, -1>, k), "") << k;
  EXPECT_THAT(error_of_split(launch_split<2, -1>, 385), HasSubstr("twice that of plain loops"));
}

TEST(ProductTolerance, RejectsOmittedTermPair) {
  for (const int64_t k : {1, 7, 33, 385}) {
    EXPECT_NE(error_of_split(launch_split<3, 0>, k), "") << k;
    EXPECT_NE(error_of_split(launch_split<3, 1>, k), "") << k;
    EXPECT_NE(error_of_split(launch_split<3, 2>, k), "") << k;
    EXPECT_NE(error_of_split(launch_split<3, 4>, k), "") << k;
  }
}

// The error of a kernel with the tolerances for `library` (null: for our own kernels); empty if the kernel is accepted.
std::string error_by_library(const ConformanceCase& row, DType dtype, void (*launch)(const KernelCall&),
                             const char* library = cuda::kBlasName) {
  return conformance_error(row, dtype, {.op = row.op, .name = "by_library", .launch = launch, .library = library});
}

// Computes bias + a b for matrices a and b. kRoundFactor rounds the factors, and kRoundProduct the product.
template <double (*kRoundFactor)(double), double (*kRoundProduct)(double)>
void launch_addmm(const KernelCall& call) {
  const int64_t k_size = call.in[1].shape()[1];
  const int64_t n = call.in[2].shape()[1];
  for (int64_t at = 0; at < call.out[0].numel(); ++at) {
    float sum = 0;
    for (int64_t k = 0; k < k_size; ++k)
      sum += static_cast<float>(kRoundFactor(call.in[1].at(at / n * k_size + k))) *
             static_cast<float>(kRoundFactor(call.in[2].at(k * n + at % n)));
    call.out[0].put(at, kRoundProduct(sum) + call.in[0].at(at % n));
  }
}
double unrounded(double value) { return value; }
double as_bfloat16(double value) {
  return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(value))));
}
double as_tf32(double value) {
  constexpr uint32_t kKept = ~((1U << 13U) - 1);
  return static_cast<double>(std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(value)) & kKept));
}
double shifted(double value) { return value > 60 ? value + 7e-4 : value; }
double more(double value) { return as_bfloat16(1.01 * value); }

ConformanceCase addmm_row(int64_t k) {
  return {.op = &kAddmm,
          .inputs = {{.shape = {33}}, {.shape = {17, k}}, {.shape = {k, 33}}},
          .slack = 24,
          .absolute = 24,
          .plain = plain_addmm};
}

TEST(LibraryTolerance, AcceptsRoundingBeforeAddingTheBias) {
  constexpr auto kRounds = launch_addmm<unrounded, as_bfloat16>;
  for (const int64_t k : {7, 33, 385}) {
    EXPECT_EQ(error_by_library(addmm_row(k), DType::kBFloat16, kRounds), "") << k;
    // Our own kernels, and kernels with a float32 result, must not round the product before they add the bias.
    EXPECT_NE(error_by_library(addmm_row(k), DType::kBFloat16, kRounds, nullptr), "") << k;
    EXPECT_NE(error_by_library(addmm_row(k), DType::kFloat32, kRounds), "") << k;
    EXPECT_NE(error_by_library(addmm_row(k), DType::kBFloat16, launch_addmm<unrounded, more>), "") << k;
  }
}

TEST(LibraryTolerance, RejectsFactorsInTf32) {
  for (const int64_t k : {7, 33, 385}) {
    EXPECT_EQ(error_by_library(addmm_row(k), DType::kFloat32, launch_addmm<unrounded, unrounded>), "") << k;
    EXPECT_NE(error_by_library(addmm_row(k), DType::kFloat32, launch_addmm<as_tf32, unrounded>), "") << k;
  }
  // The error that shifted() adds is small relative to the elements, but larger than the rounding error of float32 sums
  // in any order.
  EXPECT_THAT(error_by_library(addmm_row(385), DType::kFloat32, launch_addmm<unrounded, shifted>),
              HasSubstr("any order"));
}

// The tiles or strips kernel of an op for the widest instruction set. launch_scaled() scales its results by 1.01.
const Kernel& widest_kernel_of(const OpCard& op) {
  static const std::vector<Kernel> kKernels = cpu_kernels(cpu::widest_isa());
  return *std::find_if(kKernels.begin(), kKernels.end(), [&](const Kernel& kernel) {
    return kernel.op == &op && (kernel.name.starts_with("tiles_") || kernel.name.starts_with("strips_"));
  });
}
template <const OpCard& op>
void launch_scaled(const KernelCall& call) {
  widest_kernel_of(op).launch(call);
  for (const TensorView& out : call.out) {
    for (int64_t i = 0; out.data != nullptr && i < out.numel(); ++i) out.put(i, 1.01 * out.at(i));
  }
}
template <const OpCard& op>
std::string error_of_scaled(const ConformanceCase& row, DType dtype) {
  Kernel kernel = widest_kernel_of(op);
  EXPECT_EQ(conformance_error(row, dtype, kernel), "") << op.name << " " << name_of(dtype);
  kernel.launch = launch_scaled<op>;
  return conformance_error(row, dtype, kernel);
}

TEST(GradientTolerance, RejectsGradientsOnePercentTooLarge) {
  const Shape shape{1, 2, 33, 20};
  const Operand log_sum_exp{.shape = {1, 2, 33, 1}, .values = Values::kPositive, .dtype = DType::kFloat32};
  const ConformanceCase attention{.op = &kScaledDotProductAttentionBackward,
                                  .attributes = AttentionAttributes{true, 0, 42, 7},
                                  .inputs = {{shape}, {shape}, {shape}, {shape}, log_sum_exp, {shape}}};
  const ConformanceCase gelu{
      .op = &kGeluBackward, .attributes = GeluAttributes{true}, .inputs = {{.shape = {50}}, {.shape = {50}}}};
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    EXPECT_NE(error_of_scaled<kScaledDotProductAttentionBackward>(attention, dtype), "") << name_of(dtype);
    EXPECT_NE(error_of_scaled<kGeluBackward>(gelu, dtype), "") << name_of(dtype);
  }
}

}  // namespace
}  // namespace laptime::test
