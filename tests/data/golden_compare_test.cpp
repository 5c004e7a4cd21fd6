// Comparisons with golden files: tolerances and distances match hand-computed values.
#include "data/golden_compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "data/written_file.h"
#include "support/golden_path.h"
#include "support/golden_truth.h"

namespace laptime {
namespace {

using test::compare;
using test::golden_path;
using test::kBFloat16;
using test::kFloat32;
using test::truth_of;

// Hand-computed limits: 2 x max(torch_error, floor) for logits and gradients, and 6 x that maximum for weights.
TEST(GoldenCompare, TolerancesMatchHandComputedLimits) {
  const GoldenCase golden = read_golden(golden_path("tiny_2025"));
  const auto allowed = [&](Precision precision, const std::string& key) {
    return compare(golden, precision, key, truth_of(golden, key)).allowed;
  };
  const auto& bf16 = golden.bfloat16.torch_error.tensors;
  EXPECT_DOUBLE_EQ(allowed(kFloat32, "logits"), 2 * 2e-6);
  EXPECT_DOUBLE_EQ(allowed(kFloat32, "grad/ln_final.weight"), 2 * 2e-6);
  EXPECT_DOUBLE_EQ(allowed(kFloat32, "after1/ln_final.weight"), 6 * 2e-6);
  EXPECT_DOUBLE_EQ(allowed(kBFloat16, "logits"), 2 * std::max(4e-3, bf16.at("logits")));
  const std::string key = "grad/layers.0.attn.q_proj.weight";
  ASSERT_GT(bf16.at(key), 4e-3);
  EXPECT_DOUBLE_EQ(allowed(kBFloat16, key), 2 * bf16.at(key));
  EXPECT_DOUBLE_EQ(allowed(kBFloat16, "after10/ln_final.weight"),
                   6 * std::max(4e-3, bf16.at("after10/ln_final.weight")));
  EXPECT_DOUBLE_EQ(compare_loss(golden, kFloat32, 0, 1).allowed,
                   2 * std::max(1e-6, *golden.float32.torch_error.losses));
  EXPECT_DOUBLE_EQ(compare_loss(golden, kBFloat16, 0, 1).allowed, 2 * 2e-3);
  const auto& f16 = golden.values(Precision::kFloat16).torch_error.tensors;
  EXPECT_DOUBLE_EQ(allowed(Precision::kFloat16, "logits"), 2 * std::max(5e-4, f16.at("logits")));
  EXPECT_DOUBLE_EQ(allowed(Precision::kFloat16, "after10/ln_final.weight"),
                   6 * std::max(4e-3, f16.at("after10/ln_final.weight")));
  EXPECT_DOUBLE_EQ(compare_loss(golden, Precision::kFloat16, 0, 1).allowed, 2 * 2.5e-4);

  EXPECT_DOUBLE_EQ(allowed(Precision::kTf32, "logits"), 2 * 2e-3);
  EXPECT_DOUBLE_EQ(allowed(Precision::kTf32, key), 2 * 2e-3);
  EXPECT_DOUBLE_EQ(allowed(Precision::kTf32, "after10/ln_final.weight"), 6 * 4e-3);
  EXPECT_DOUBLE_EQ(compare_loss(golden, Precision::kTf32, 0, 1).allowed, 2 * 1e-3);

  const GoldenCase large = read_golden(golden_path("small_2025"));
  const auto large_allowed = [&](Precision precision, const std::string& name) {
    return compare(large, precision, name, truth_of(large, name)).allowed;
  };
  EXPECT_DOUBLE_EQ(large_allowed(kFloat32, "logits"), 2e-5);
  EXPECT_DOUBLE_EQ(large_allowed(kBFloat16, "logits"), 4e-2);
  EXPECT_DOUBLE_EQ(large_allowed(kBFloat16, "after3/layers.0.ln1.weight"), 0.12);
  EXPECT_DOUBLE_EQ(compare_loss(large, kFloat32, 0, 1).allowed, 2e-6);
}

TEST(GoldenCompare, DistanceIsRelativeToTheNorm) {
  const GoldenCase golden = read_golden(golden_path("tiny_2025"));
  const std::string key = "grad/ln_final.weight";
  std::vector<double> values = truth_of(golden, key);
  double norm = 0;
  for (const double value : values) norm += value * value;
  values[3] += 1e-3;
  EXPECT_NEAR(compare(golden, kFloat32, key, values).distance, 1e-3 / std::sqrt(norm), 1e-12);
}

// The gradient of k_proj.bias is zero, because softmax ignores a constant shift of its scores.
TEST(GoldenCompare, ErrorOfAZeroGradientIsRelativeToTheLargestNorm) {
  const GoldenCase biased = read_golden(golden_path("tiny_gpt2"));
  const std::string zero = "grad/layers.0.attn.k_proj.bias";
  ASSERT_LT(biased.truth_norm.at(zero), 1e-12);
  const double largest = biased.largest_norm.at("grad");
  for (const std::string& other : biased.keys) {
    EXPECT_TRUE(!other.starts_with("grad/") || biased.truth_norm.at(other) <= largest);
  }
  std::vector<double> noise = truth_of(biased, zero);
  noise[0] += largest * 3.9e-6;
  EXPECT_TRUE(compare(biased, kFloat32, zero, noise).pass);
  noise[0] += largest * 0.2e-6;
  EXPECT_FALSE(compare(biased, kFloat32, zero, noise).pass);
}

// One gradient has two elements of 1e-3 each, the other has four elements of 1 each.
TEST(GoldenCompare, ErrorOfATwoElementGradientIsRelativeToOtherGradients) {
  const WrittenFile written("two.safetensors",
                            safetensors_bytes(R"({"grad/few":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},)"
                                              R"("grad/many":{"dtype":"F64","shape":[4],"data_offsets":[16,48]}})",
                                              bytes_of(1e-3) + bytes_of(1e-3) + bytes_of(1.0) + bytes_of(1.0) +
                                                  bytes_of(1.0) + bytes_of(1.0)));
  GoldenCase golden;
  golden.file = std::make_shared<const SafetensorsFile>(written.path());
  golden.norms = {{"grad/few", {std::sqrt(2.0) * 1e-3, {2}}}, {"grad/many", {2, {4}}}};
  golden.truth_norm = {{"grad/few", std::sqrt(2.0) * 1e-3}, {"grad/many", 2}};
  golden.largest_norm = {{"grad", 2}};
  const double off = 1e-6;
  const std::vector<double> few{1e-3 + off, 1e-3};
  const std::vector<double> many{1 + off, 1, 1, 1};
  EXPECT_NEAR(compare(golden, kFloat32, "grad/few", few).distance, off / std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(compare(golden, kFloat32, "grad/many", many).distance, off / 2, 1e-12);
}

// One element of the tensor has a gradient below 1.2e-8, and its neighbours have gradients of at least 1e-4.
TEST(GoldenCompare, SkipsWeightsWithNearZeroGradients) {
  const GoldenCase golden = read_golden(golden_path("tiny_gpt2"));
  const std::string name = "layers.0.attn.output_proj.weight";
  const std::vector<double> gradient = truth_of(golden, "grad/" + name);
  for (const std::string& key : {"after1/" + name, "after10/" + name}) {
    std::vector<double> values = truth_of(golden, key);
    ASSERT_LT(std::fabs(gradient[1002]), 1.2e-8);
    values[1002] += 1e-3;
    const Comparison without = compare(golden, kFloat32, key, values);
    EXPECT_TRUE(without.pass);
    EXPECT_FALSE(without.skipped);
    EXPECT_NE(without.note.find("1 of 1600"), std::string::npos) << without.note;
    values[1003] += 1e-3;
    EXPECT_FALSE(compare(golden, kFloat32, key, values).pass);
  }
  std::vector<double> wrong = gradient;
  wrong[1002] += 1e-4 * golden.truth_norm.at("grad/" + name);
  EXPECT_FALSE(compare(golden, kFloat32, "grad/" + name, wrong).pass);
}

TEST(GoldenCompare, RejectsWrongValue) {
  const GoldenCase golden = read_golden(golden_path("tiny_2024"));
  for (const std::string& key : golden.keys) {
    for (const Precision precision : {kFloat32, kBFloat16}) {
      std::vector<double> values = truth_of(golden, key);
      const Comparison good = compare(golden, precision, key, values);
      const double scale =
          std::max(golden.truth_norm.at(key), 1e-3 * golden.largest_norm.at(std::string(split_key(key).group)));
      values.back() += 1.01 * good.allowed * scale;
      EXPECT_FALSE(compare(golden, precision, key, values).pass) << key;
      values.back() -= 0.02 * good.allowed * scale;
      EXPECT_TRUE(compare(golden, precision, key, values).pass) << key;
      values.back() = std::numeric_limits<double>::quiet_NaN();
      EXPECT_FALSE(compare(golden, precision, key, values).pass) << key;
    }
  }
  EXPECT_FALSE(compare_loss(golden, kFloat32, 3, golden.losses[3] * (1 + 3e-6)).pass);
  EXPECT_FALSE(compare_loss(golden, kBFloat16, 3, golden.losses[3] * 1.005).pass);
  EXPECT_FALSE(compare_loss(golden, kFloat32, 3, std::nan("")).pass);
}

TEST(GoldenCompare, ComparesFloatValues) {
  const GoldenCase golden = read_golden(golden_path("tiny_2025"));
  const std::vector<double> truth = truth_of(golden, "logits");
  const std::vector<float> rounded(truth.begin(), truth.end());
  const Comparison result = compare_tensor<float>(golden, kFloat32, "logits", rounded);
  EXPECT_TRUE(result.pass);
  EXPECT_GT(result.distance, 0);
  EXPECT_LT(result.distance, 6e-8);
}

TEST(GoldenCompare, ComparesOnlyTheSampledElements) {
  const GoldenCase golden = read_golden(golden_path("head64_2025"));
  const GoldenTensor stored = stored_tensor(golden, "logits");
  ASSERT_EQ(stored.positions.size(), 64U);
  std::vector<double> values = truth_of(golden, "logits");
  ASSERT_EQ(values.size(), 2U * 96 * 1000);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::find(stored.positions.begin(), stored.positions.end(), static_cast<int64_t>(i)) ==
        stored.positions.end()) {
      values[i] = 1e6;
    }
  }
  EXPECT_TRUE(compare(golden, kFloat32, "logits", values).pass);
  double norm = 0;
  for (const double value : stored.values) norm += value * value;
  EXPECT_DOUBLE_EQ(golden.truth_norm.at("logits"), std::sqrt(norm));
  values[static_cast<size_t>(stored.positions[5])] += 1e-4 * std::sqrt(norm);
  EXPECT_FALSE(compare(golden, kFloat32, "logits", values).pass);
}

TEST(GoldenCompare, ComparesMemoryAndDtypes) {
  const GoldenCase modern = read_golden(golden_path("tiny_2026"));
  const int64_t bytes = modern.float32.eager.saved_bytes;
  EXPECT_TRUE(compare_saved_bytes(modern, kFloat32, bytes).pass);
  EXPECT_FALSE(compare_saved_bytes(modern, kFloat32, bytes + 1).pass);
  const GoldenCase old = read_golden(golden_path("tiny_gpt2"));
  const int64_t old_bytes = old.bfloat16.eager.saved_bytes;
  EXPECT_TRUE(compare_saved_bytes(old, kBFloat16, old_bytes * 1019 / 1000).pass);
  EXPECT_FALSE(compare_saved_bytes(old, kBFloat16, old_bytes * 1021 / 1000).pass);
  EXPECT_TRUE(compare_inference_peak(old, 150444 * 104 / 100).pass);
  EXPECT_FALSE(compare_inference_peak(old, 150444 * 94 / 100).pass);
  EXPECT_TRUE(compare_forward_backward_peak(old, 398572).pass);
  EXPECT_FALSE(compare_forward_backward_peak(old, 398572 * 106 / 100).pass);
  EXPECT_FALSE(compare_dtype(old, Precision::kBFloat16, "logits", "float32").pass);
  EXPECT_FALSE(compare_dtype(old, Precision::kBFloat16, "layers.9.ln1", "float32").pass);
  const GoldenCase clipped = read_golden(golden_path("tiny_2025_clip"));
  EXPECT_TRUE(compare_grad_norm(clipped, kFloat32, *clipped.grad_norm * (1 + 3e-6)).pass);
  EXPECT_FALSE(compare_grad_norm(clipped, kFloat32, *clipped.grad_norm * (1 + 5e-6)).pass);
  EXPECT_TRUE(compare_grad_norm(modern, kFloat32, 1).skipped);
  EXPECT_TRUE(compare_forward_backward_peak(read_golden(golden_path("small_2025")), 1).skipped);
}

}  // namespace
}  // namespace laptime
