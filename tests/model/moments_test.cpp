// AdamW moments in bfloat16 take half the bytes, and an update uses the new moments before they are rounded.
#include <gtest/gtest.h>

#include "support/training.h"

namespace laptime::test {
namespace {

// The losses of the first `steps` steps.
std::vector<double> losses(const RunConfig& config, const TrainingOptions& options, int steps) {
  Training training(config, options);
  std::vector<double> values;
  for (int i = 0; i < steps; ++i) {
    training.step();
    values.push_back(training.loss());
  }
  return values;
}

TEST(MomentsInBFloat16, AreRoundedAfterTheUpdate) {
  constexpr int kSteps = 6;
  for (const Optimizer optimizer : {Optimizer::k2025, Optimizer::k2026, Optimizer::kTorch}) {
    RunConfig config = tiny_config(Edition::k2025);
    config.optimizer = optimizer;
    config.lr = 1e-2;
    RunConfig narrow = config;
    narrow.moments = MomentType::kBFloat16;
    for (const PipelineOptions& passes : {eager_options(config), compile_options(config)}) {
      const TrainingOptions options{.passes = passes};
      const std::vector<double> expected = losses(config, options, kSteps);
      const std::vector<double> found = losses(narrow, options, kSteps);
      // The moments start at zero, so the first update reads no rounded values.
      EXPECT_EQ(found[0], expected[0]);
      EXPECT_EQ(found[1], expected[1]);
      for (size_t i = 2; i < kSteps; ++i) EXPECT_NEAR(found[i], expected[i], 2e-2 * expected[i]) << "step " << i;
      EXPECT_NE(found, expected);
    }
  }
}

TEST(MomentsInBFloat16, UseHalfTheBytes) {
  RunConfig config = tiny_config(Edition::k2025);
  Training wide(config);
  config.moments = MomentType::kBFloat16;
  Training narrow(config);
  for (const ParameterSpec& parameter : parameter_list(config.step_model())) {
    for (const char* prefix : {source::kFirstMoment, source::kSecondMoment})
      EXPECT_EQ(2 * narrow.executor().read_source(prefix + parameter.name).size(),
                wide.executor().read_source(prefix + parameter.name).size());
  }
}

}  // namespace
}  // namespace laptime::test
