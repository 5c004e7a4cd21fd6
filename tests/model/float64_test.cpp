// Compares graphs that run on float64 reference kernels with the float64 values of the golden files.
#include <gtest/gtest.h>

#include <cmath>

#include "data/golden.h"
#include "support/golden_path.h"
#include "support/training.h"

namespace laptime::test {
namespace {

constexpr double kTolerance = 1e-10;

GoldenCase golden_case(const std::string& name) { return read_golden(golden_path(name)); }

// The L2 norm of the difference, relative to the norm of the true values or to 1e-3 of the largest norm in the group,
// whichever is larger.
double distance(const GoldenCase& golden, const std::string& key, const std::vector<double>& values) {
  const std::vector<double> truth = stored_tensor(golden, key).values;
  LAPTIME_CHECK(truth.size() == values.size(), "{}", key);
  double sum = 0;
  for (size_t i = 0; i < truth.size(); ++i) sum += (values[i] - truth[i]) * (values[i] - truth[i]);
  return std::sqrt(sum) /
         std::max(golden.truth_norm.at(key), 1e-3 * golden.largest_norm.at(std::string(split_key(key).group)));
}

class Float64 : public testing::TestWithParam<const char*> {};

TEST_P(Float64, SlowReproducesTheGoldenValues) {
  const GoldenCase golden = golden_case(GetParam());
  Training training(run_config_of(golden, Precision::kFloat32), {.references = true, .real = DType::kFloat64});
  training.step();
  EXPECT_NEAR(training.loss() / golden.losses[0], 1, 1e-13);
  EXPECT_LT(distance(golden, "logits", training.output(output::kLogits)), kTolerance);
  for (const ParameterSpec& parameter : parameter_list(golden.model)) {
    SCOPED_TRACE(parameter.name);
    EXPECT_LT(distance(golden, "grad/" + parameter.name, training.output(output::kGradient + parameter.name)),
              kTolerance);
    if (parameter.name.find("k_proj.bias") != std::string::npos)
      continue;  // the gradient of a key bias consists only of rounding errors
    // In its first step AdamW divides by |gradient| + eps, which amplifies gradients near zero.
    EXPECT_LT(distance(golden, "after1/" + parameter.name, training.source(parameter.name)), 1e-8);
  }
  if (golden.grad_norm) {
    EXPECT_NEAR(training.output(output::kGradNorm)[0] / *golden.grad_norm, 1, 1e-12);
  }
  training.step();
  EXPECT_NEAR(training.loss() / golden.losses[1], 1, 1e-10);
}

INSTANTIATE_TEST_SUITE_P(Tiny, Float64,
                         testing::Values("tiny_2024", "tiny_2024_tied_bias", "tiny_2025", "tiny_2025_clip",
                                         "tiny_2025_torch_adamw", "tiny_2026", "tiny_gpt2"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace laptime::test
