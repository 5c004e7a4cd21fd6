// Options that make a point invalid.
#include "model/validate.h"

#include <gtest/gtest.h>

#include "support/error_of.h"
#include "support/training.h"

namespace laptime::test {
namespace {

std::string refusal(const RunConfig& config) {
  return error_of([&] { validate(config); });
}

TEST(Validate, OptimizerOptionsNeedTheOptimizer) {
  const auto check = [](const char* option, const auto& set) {
    RunConfig config = tiny_config(Edition::k2025);
    set(config);
    EXPECT_EQ(refusal(config), "") << option;
    for (const Pass pass : {Pass::kForward, Pass::kBackward, Pass::kForwardBackward, Pass::kInference}) {
      config.pass = pass;
      EXPECT_EQ(refusal(config), fmt::format("{} needs --pass step, in which the optimizer runs; leave it out", option))
          << name_of(pass);
    }
  };
  check("--clip-norm", [](RunConfig& config) { config.clip_norm = 1; });
  check("--moments", [](RunConfig& config) { config.moments = MomentType::kBFloat16; });
  check("--optimizer-in-backward", [](RunConfig& config) { config.optimizer_in_backward = true; });
}

// The sweep timeit_2024 gives --accumulate to each of its passes, also to forward.
TEST(Validate, AccumulateExcludesOnlyInference) {
  RunConfig config = tiny_config(Edition::k2025);
  config.accumulate = true;
  for (const Pass pass : {Pass::kForward, Pass::kBackward, Pass::kForwardBackward, Pass::kStep}) {
    config.pass = pass;
    EXPECT_EQ(refusal(config), "") << name_of(pass);
  }
  config.pass = Pass::kInference;
  EXPECT_EQ(refusal(config), "--accumulate has no effect on --pass inference, which has no gradients; leave it out");
}

}  // namespace
}  // namespace laptime::test
