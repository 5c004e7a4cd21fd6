// Results have identical bits in every run and for any number of threads. They depend on the seed and, with dropout, on
// the step.
#include <gtest/gtest.h>

#include "support/training.h"

namespace laptime::test {
namespace {

constexpr int kRuns = 20;

// The loss, the logits, every gradient and every weight after each of three steps.
std::vector<std::byte> trained(const RunConfig& config, int threads) {
  Training training(config, {.threads = threads});
  std::vector<std::byte> all;
  for (int step = 0; step < 3; ++step) {
    training.step();
    const std::vector<std::byte> now = training.everything();
    all.insert(all.end(), now.begin(), now.end());
  }
  return all;
}

struct Case {
  const char* name;
  RunConfig config;
};
void PrintTo(const Case& value, std::ostream* stream) { *stream << value.name; }

class Determinism : public testing::TestWithParam<Case> {};

TEST_P(Determinism, SlowGivesTheSameBitsForEveryRunAndThreadCount) {
  const RunConfig& config = GetParam().config;
  const std::vector<std::byte> expected = trained(config, 1);
  ASSERT_FALSE(expected.empty());
  for (int run = 0; run < kRuns; ++run) {
    const int threads = 1 + run % 3;
    EXPECT_EQ(trained(config, threads) == expected, true) << "run " << run << " with " << threads << " threads";
  }
}

RunConfig with_dropout() {
  RunConfig config = tiny_config(Edition::k2024);
  config.model.embd_pdrop = config.model.attn_pdrop = config.model.resid_pdrop = 0.1;
  config.clip_norm = 0.5;
  return config;
}

INSTANTIATE_TEST_SUITE_P(All, Determinism,
                         testing::Values(Case{"tiny_float32", tiny_config(Edition::k2025)},
                                         Case{"tiny_bfloat16", tiny_config(Edition::k2025, Precision::kBFloat16)},
                                         Case{"gpt2_bfloat16", tiny_config(Edition::kGpt2, Precision::kBFloat16)},
                                         Case{"dropout_and_clipping", with_dropout()},
                                         Case{"odd_float32", odd_config()},
                                         Case{"odd_bfloat16", odd_config(Precision::kBFloat16)}),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(Seed, ChangesResults) {
  RunConfig config = tiny_config(Edition::k2025);
  const std::vector<std::byte> first = trained(config, 1);
  config.seed = 12;
  EXPECT_FALSE(trained(config, 1) == first);
}

TEST(Dropout, IsOffInInference) {
  RunConfig config = with_dropout();
  config.pass = Pass::kInference;
  const Graph dropped = build_train_step(config);
  config.model.embd_pdrop = config.model.attn_pdrop = config.model.resid_pdrop = 0;
  EXPECT_EQ(print(dropped), print(build_train_step(config)));
}

TEST(Dropout, EachStepDropsDifferentElements) {
  RunConfig config = with_dropout();
  config.pass = Pass::kForwardBackward;
  config.clip_norm.reset();
  Training training(config);
  training.step();
  const double first = training.loss();
  training.step();
  EXPECT_NE(training.loss(), first);  // the dropped elements differ; weights and batch do not
  config.model.embd_pdrop = config.model.attn_pdrop = config.model.resid_pdrop = 0;
  Training without(config);
  without.step();
  const double kept = without.loss();
  without.step();
  EXPECT_EQ(without.loss(), kept);
}

}  // namespace
}  // namespace laptime::test
