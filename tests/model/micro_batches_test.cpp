// Micro-batches: a step with several passes gives the same loss, gradients and weights as one pass over the whole
// batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "model/model_builder.h"
#include "model/validate.h"
#include "support/error_of.h"
#include "support/training.h"

namespace laptime::test {
namespace {

std::vector<double> losses_of_steps(const RunConfig& config, const PipelineOptions& passes) {
  constexpr int kSteps = 4;
  Training training(config, {.passes = passes});
  std::vector<double> values;
  for (int i = 0; i < kSteps; ++i) {
    training.step();
    values.push_back(training.loss());
  }
  return values;
}

TEST(MicroBatches, SlowGiveTheLossesOfTheWholeBatch) {
  for (const Edition edition : {Edition::k2024, Edition::k2025, Edition::kGpt2, Edition::kQwen3}) {
    for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
      RunConfig config = tiny_config(edition, dtype);
      config.lr = 1e-2;
      for (const bool compiles : {false, true}) {
        const auto passes = [&](const RunConfig& one) { return compiles ? compile_options(one) : eager_options(one); };
        const std::vector<double> whole = losses_of_steps(config, passes(config));
        for (const int64_t count : {2, 3}) {  // 3 sequences split into 2 + 1, or into 1 + 1 + 1
          RunConfig divided = config;
          divided.micro_batches = count;
          const std::vector<double> found = losses_of_steps(divided, passes(divided));
          const double allowed = dtype == Precision::kFloat32 ? 2e-6 : 4e-3;
          for (size_t i = 0; i < whole.size(); ++i)
            EXPECT_NEAR(found[i], whole[i], allowed * whole[i]) << name_of(edition) << " " << count << " step " << i;
        }
      }
    }
  }
}

// The sum of the seed and the step determines a dropout mask, so all sums must differ.
TEST(MicroBatches, HaveDifferentDropoutMasksInEachStep) {
  constexpr uint64_t kSeed = 7;
  std::set<uint64_t> sums;
  for (int64_t index = 0; index < 4; ++index) {
    ModelBuilder build(DType::kFloat32, kSeed);
    build.select({.index = index, .begin = index, .end = index + 1, .batch_size = 4});
    for (uint64_t step = 0; step < 4; ++step) EXPECT_TRUE(sums.insert(build.seed() + step).second) << index;
  }
}

TEST(MicroBatches, GiveTheGradientsOfTheWholeBatch) {
  RunConfig config = tiny_config(Edition::k2025);
  config.pass = Pass::kForwardBackward;
  const auto gradients_of = [](const RunConfig& one) {
    Training training(one, {.passes = eager_options(one)});
    training.step();
    std::vector<float> all;
    for (const ParameterSpec& parameter : parameter_list(one.step_model())) {
      const std::vector<std::byte> bytes = training.executor().read_output(output::kGradient + parameter.name);
      const size_t before = all.size();
      all.resize(before + bytes.size() / sizeof(float));
      std::memcpy(all.data() + before, bytes.data(), bytes.size());
    }
    return all;
  };
  const std::vector<float> whole = gradients_of(config);
  config.micro_batches = 3;
  const std::vector<float> divided = gradients_of(config);
  ASSERT_EQ(divided.size(), whole.size());
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    difference += (divided[i] - whole[i]) * (divided[i] - whole[i]);
    norm += whole[i] * whole[i];
  }
  EXPECT_LT(std::sqrt(difference / norm), 1e-6);
}

// The activations of a micro-batch are freed before the next micro-batch runs.
TEST(MicroBatches, HoldTheActivationsOfOneMicroBatchInEagerMode) {
  RunConfig config = tiny_config(Edition::k2025);
  config.pass = Pass::kForwardBackward;
  config.model.context_length = 64;
  const auto peak_of = [](const RunConfig& one) {
    return Training(one, {.passes = eager_options(one)}).executor().plan().live_peak_bytes;
  };
  config.model.batch_size = 4;
  const int64_t one = peak_of(config);
  config.model.batch_size = 8;
  config.micro_batches = 2;
  int64_t gradients = 0;
  for (const ParameterSpec& parameter : parameter_list(config.step_model()))
    gradients += Shape(parameter.shape).product() * size_of(DType::kFloat32);
  EXPECT_LE(peak_of(config), one + 2 * gradients);
}

TEST(MicroBatches, NeedAPassWithGradientsAndEnoughSequences) {
  const auto refusal = [](const RunConfig& config) { return test::error_of([&] { validate(config); }); };
  RunConfig config = tiny_config(Edition::k2025);
  config.micro_batches = 4;
  EXPECT_THAT(refusal(config), testing::HasSubstr("more than the 3 sequences"));
  config.micro_batches = 2;
  EXPECT_EQ(refusal(config), "");
  config.optimizer_in_backward = true;
  EXPECT_THAT(refusal(config), testing::HasSubstr("excludes --micro-batches"));
  config.optimizer_in_backward = false;
  config.pass = Pass::kForward;
  EXPECT_THAT(refusal(config), testing::HasSubstr("needs --pass step or forward_backward"));
}

}  // namespace
}  // namespace laptime::test
