// --accumulate: the gradients that a step keeps for the next one.
#include <gtest/gtest.h>

#include "graph/structural_ops.h"
#include "support/training.h"

namespace laptime::test {
namespace {

RunConfig accumulating(Pass pass) {
  RunConfig config = tiny_config(Edition::k2024);
  config.pass = pass;
  config.accumulate = true;
  return config;
}

// Forward computes no gradients, so it would only hold memory for them.
TEST(Accumulate, TakesNoMemoryInForward) {
  RunConfig config = accumulating(Pass::kForward);
  const Plan kept = Training(config).executor().plan();
  config.accumulate = false;
  const Plan plain = Training(config).executor().plan();
  EXPECT_EQ(kept.resident_bytes, plain.resident_bytes);
  EXPECT_EQ(kept.live_peak_bytes, plain.live_peak_bytes);
  EXPECT_EQ(kept.buffers.size(), plain.buffers.size());
}

// The next step adds to the clipped gradients, as after PyTorch's clip_grad_norm_. With a learning rate of 0, all steps
// compute the same gradients, so the second step clips these plus a clipped copy of them.
TEST(Accumulate, KeepsClippedGradientsWithoutCopies) {
  RunConfig plain = tiny_config(Edition::k2024);
  plain.lr = 0;
  plain.clip_norm = 1e6;
  Training once(plain);
  once.step();
  const double norm = once.output(output::kGradNorm).at(0);
  RunConfig config = plain;
  config.accumulate = true;
  config.clip_norm = norm / 4;
  for (const PipelineOptions& passes : {eager_options(config), compile_options(config)}) {
    SCOPED_TRACE(passes.compile ? "compile" : "eager");
    Training training(config, {.passes = passes});
    training.step();
    EXPECT_NEAR(training.output(output::kGradNorm).at(0) / norm, 1, 1e-5);
    training.step();
    EXPECT_NEAR(training.output(output::kGradNorm).at(0) / norm, 1 + 0.25, 1e-5);
    for (const ParameterSpec& parameter : parameter_list(config.step_model())) {
      const std::vector<double> kept = training.source(source::kGradient + parameter.name);
      const std::vector<double> whole = once.output(output::kGradient + parameter.name);
      ASSERT_EQ(kept.size(), whole.size());
      for (size_t i = 0; i < kept.size(); ++i) ASSERT_NEAR(kept[i], whole[i] / 4, 1e-6 * norm) << parameter.name;
    }
    for (const PlanStep& step : training.executor().plan().steps)
      EXPECT_TRUE(step.phase != Phase::kOptimizer || step.kernel->op != &kAssign) << step.scope;
  }
}

}  // namespace
}  // namespace laptime::test
