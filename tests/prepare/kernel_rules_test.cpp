// --float32-precision and --reproducible: the kernels that these options allow, and the math mode of a record.
#include "prepare/kernel_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/gemm/bfloat16_pairs.h"
#include "ops/matmul/matmul.h"
#include "prepare/prepare.h"
#include "support/points.h"

namespace laptime {
namespace {

using test::Options;
using test::point_of;
using testing::HasSubstr;

Signature product(DType dtype = DType::kFloat32) {
  Signature signature{&kMatmul, {}, {contiguous_type(dtype, {4, 5}), contiguous_type(dtype, {5, 6})}, {}};
  signature.out = kMatmul.infer(signature.attributes, signature.in);
  return signature;
}

template <ProductMath math>
ProductMath always(const Signature&) {
  return math;
}

// Matmul kernels that are never run.
const Kernel kSplit{.op = &kMatmul,
                    .name = "split",
                    .product_math = always<ProductMath::kSplit>,
                    .flushes_denormals = true,
                    .reproducible = false};
const Kernel kLibrary{
    .op = &kMatmul, .name = "library", .product_math = always<ProductMath::kFloat32>, .reproducible = false};
const Kernel kOurs{.op = &kMatmul, .name = "ours", .product_math = always<ProductMath::kFloat32>};
const Kernel kBFloat16{.op = &kMatmul, .name = "bfloat16", .product_math = always<ProductMath::kBFloat16>};

std::vector<std::string> names(const KernelTable& kernels, const KernelRules& rules) {
  std::vector<std::string> names;
  for (const Kernel* kernel : candidates(kernels, product(), rules)) names.push_back(kernel->name);
  return names;
}

using Names = std::vector<std::string>;

TEST(KernelRules, DecideWhichKernelsMayRun) {
  const KernelTable kernels({kSplit, kLibrary, kOurs});
  EXPECT_EQ(names(kernels, {}), (Names{"split", "library", "ours"}));
  EXPECT_EQ(names(kernels, {.float32_precision = Float32Precision::kIeee}), (Names{"library", "ours"}));
  EXPECT_EQ(names(kernels, {.float32_precision = Float32Precision::kSplit}), (Names{"split"}));
  EXPECT_EQ(names(kernels, {.reproducible = true}), (Names{"ours"}));
}

TEST(KernelRules, SplitKeepsKernelsWithoutASplitAlternative) {
  EXPECT_EQ(names(KernelTable({kLibrary, kOurs}), {.float32_precision = Float32Precision::kSplit}),
            (Names{"library", "ours"}));
  const KernelTable bfloat16({kSplit, kBFloat16});
  EXPECT_EQ(names(bfloat16, {.float32_precision = Float32Precision::kSplit}), (Names{"split", "bfloat16"}));
}

TEST(KernelRules, StateWhyAKernelIsForbidden) {
  const KernelTable kernels({kSplit, kLibrary, kOurs});
  EXPECT_THAT(refusal(kernels.of(kMatmul)[0], kernels, product(), {.float32_precision = Float32Precision::kIeee}),
              HasSubstr("--float32-precision ieee"));
  EXPECT_THAT(refusal(kernels.of(kMatmul)[1], kernels, product(), {.reproducible = true}), HasSubstr("--reproducible"));
}

TEST(KernelRules, ArePartOfTheKeyOfStoredChoices) {
  EXPECT_EQ(key_of({}), "");
  EXPECT_EQ(key_of({.float32_precision = Float32Precision::kIeee, .reproducible = true}), "/ieee/reproducible");
  const auto identity = [](const Options& options) { return find_device(point_of(options).config).identity; };
  EXPECT_NE(identity({{"float32-precision", "ieee"}}), identity({}));
  EXPECT_NE(identity({{"reproducible", "true"}}), identity({}));
  EXPECT_NE(identity({{"threads", "1"}}), identity({{"threads", "2"}}));
}

// A pinned kernel that the options forbid is an error, like a pinned kernel that cannot run.
TEST(KernelRules, ApplyToPinnedKernels) {
  const KernelTable kernels({kLibrary, kOurs});
  KernelChoices choices;
  choices.rules.reproducible = true;
  choices.pinned = {{product().text(), "library"}};
  choices.pinned_by = "kernels file 'a.json'";
  EXPECT_THROW(chooser(kernels, choices)(product()), Error);
  choices.pinned.clear();
  choices.measured = {{product().text(), "library"}};
  EXPECT_EQ(chooser(kernels, choices)(product())->name, "ours");
}

Plan plan_of(std::initializer_list<const Kernel*> kernels) {
  Plan plan;
  for (const Kernel* kernel : kernels) {
    PlanStep step;
    step.kernel = kernel;
    const Signature signature = product();
    for (const TensorType& type : signature.in) step.in.push_back({-1, type});
    for (const TensorType& type : signature.out) step.out.push_back({-1, type});
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

TEST(MathMode, DescribesTheKernelsThatRun) {
  Device device;
  device.requested_math = "float32";
  const auto mode = [&](std::initializer_list<const Kernel*> kernels) { return math_mode(plan_of(kernels), device); };
  EXPECT_EQ(mode({}), "float32");
  EXPECT_EQ(mode({&kOurs, &kLibrary}), "float32");
  EXPECT_EQ(mode({&kSplit}), "float32, products of three bfloat16 terms, denormals in products are zero");
  EXPECT_EQ(mode({&kSplit, &kOurs}), "float32, some products of three bfloat16 terms, denormals in products are zero");
  EXPECT_EQ(mode({&kBFloat16, &kOurs}), "bfloat16 autocast, float32 accumulation");
  EXPECT_EQ(
      mode({&kBFloat16, &kSplit}),
      "bfloat16 autocast, float32 accumulation, float32 products of three bfloat16 terms, denormals in products are "
      "zero");
  const Kernel reference = reference_kernel(kMatmul);
  EXPECT_EQ(mode({&reference, &kOurs}), "float32, products of the reference in float64");
  device.computes = false;
  EXPECT_EQ(mode({&kOurs}), "float32, predicted");
}

// CPU kernels state their arithmetic if and only if they multiply matrices. Only bfloat16 products use bfloat16.
TEST(MathMode, EveryProductKernelStatesItsArithmetic) {
  const Device device = find_device(point_of({{"device", "cpu"}}).config);
  for (const OpCard* op : device.kernels->ops()) {
    for (const Kernel& kernel : device.kernels->of(*op))
      EXPECT_EQ(kernel.product_math != nullptr, op->kind == OpKind::kContraction) << op->name << " " << kernel.name;
  }
  for (const Kernel& kernel : device.kernels->of(kMatmul)) {
    if (kernel.name == kReferenceName) continue;
    if (kernel.refusal(product(DType::kBFloat16)).empty()) {
      EXPECT_EQ(kernel.math_of_products(product(DType::kBFloat16)), ProductMath::kBFloat16) << kernel.name;
    }
    if (kernel.refusal(product()).empty()) {
      EXPECT_NE(kernel.math_of_products(product()), ProductMath::kBFloat16) << kernel.name;
    }
    EXPECT_EQ(kernel.reproducible, kernel.name.starts_with("tiles_") && !kernel.name.starts_with("tiles_dot"))
        << kernel.name;
  }
}

TEST(Float32Precision, SplitNeedsAmx) {
  const bool has_amx = cpu::bfloat16_pairs() != nullptr && cpu::bfloat16_pairs()->amx_gemm != nullptr;
  const auto reason = [](const Options& options) { return unsupported_reason(point_of(options).config); };
  if (has_amx) {
    EXPECT_EQ(reason({{"float32-precision", "split"}}), "");
  } else {
    EXPECT_THAT(reason({{"float32-precision", "split"}}), HasSubstr("AMX"));
  }
  EXPECT_THAT(reason({{"float32-precision", "split"}, {"reproducible", "true"}}), HasSubstr("--reproducible"));
  EXPECT_THAT(reason({{"float32-precision", "split"}, {"device", "roofline:h100"}}), HasSubstr("data sheet"));
  EXPECT_EQ(reason({{"float32-precision", "ieee"}, {"reproducible", "true"}}), "");
}

// Every kernel of a plan is reproducible. The reference runs only if no other kernel is allowed.
TEST(Reproducible, PlansContainOnlyReproducibleKernels) {
  for (const char* mode : {"eager", "compile"}) {
    for (const char* dtype : {"float32", "bfloat16"}) {
      const RunConfig config = point_of({{"d-model", "32"},
                                         {"num-layers", "2"},
                                         {"num-heads", "2"},
                                         {"vocab", "64"},
                                         {"context", "32"},
                                         {"batch", "2"},
                                         {"device", "cpu"},
                                         {"mode", mode},
                                         {"dtype", dtype},
                                         {"reproducible", "true"}})
                                   .config;
      const Prepared point = prepare(config, find_device(config), {});
      for (const PlanStep& step : point.plan.steps) {
        EXPECT_TRUE(step.kernel->reproducible) << step.kernel->name << " of " << step.signature().text();
        const bool has_other = candidates(*point.device.kernels, step.signature(), point.choices.rules).size() > 1;
        EXPECT_TRUE(step.kernel->name != kReferenceName || !has_other) << step.signature().text();
      }
    }
  }
}

}  // namespace
}  // namespace laptime
