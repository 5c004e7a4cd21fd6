// The search for the first value that is not finite, in every pass, from the state at the start of the failing step.
#include "measure/spoiled_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/json.h"
#include "data/written_file.h"
#include "measure/run_one.h"
#include "support/points.h"

namespace laptime {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const test::Options kTwoLayers{{"d-model", "16"}, {"d-ff", "32"},  {"num-layers", "2"}, {"num-heads", "2"},
                               {"context", "8"},  {"batch", "2"},  {"vocab", "50"},     {"device", "cpu"},
                               {"threads", "1"},  {"warmup", "1"}, {"steps", "2"}};

// A file with the initial weights of a point, except that one element of the tensor `poisoned` is `value`.
std::string weights_with(const RunConfig& config, const std::string& poisoned, float value) {
  const StartingWeights fresh(config);
  Json header;
  std::string data;
  for (const ParameterSpec& parameter : parameter_list(config.step_model())) {
    int64_t elements = 1;
    for (const int64_t size : parameter.shape) elements *= size;
    std::vector<float> values(static_cast<size_t>(elements));
    fresh.fill(parameter, 0, values);
    if (parameter.name == poisoned) values[values.size() / 2] = value;
    const size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    header[parameter.name] = {{"dtype", "F32"}, {"shape", parameter.shape}, {"data_offsets", {begin, data.size()}}};
  }
  return safetensors_bytes(header.dump(), data);
}

Record run_with(const std::string& poisoned, float value, const test::Options& options) {
  const RunConfig fresh = test::point_of(kTwoLayers, options).config;
  const WrittenFile file("weights.safetensors", weights_with(fresh, poisoned, value));
  test::Options with_file = options;
  with_file.emplace_back("weights", file.path());
  return run_one(test::point_of(kTwoLayers, with_file), {}).record;
}

TEST(FirstNan, NamesTheScopeThatReadsABadWeight) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::string mode : {"eager", "compile"}) {
    for (const std::string pass : {"forward", "inference", "backward", "forward_backward", "step"}) {
      for (const auto& [poisoned, value, scope] :
           {std::tuple{"layers.1.ffn.w2.weight", kNan, "layers.1.ffn"},
            std::tuple{"layers.0.attn.q_proj.weight", kInfinity, "layers.0.attn"},
            std::tuple{"lm_head.weight", kNan, "lm_head"}}) {
        const Record record = run_with(poisoned, value, {{"mode", mode}, {"pass", pass}});
        EXPECT_EQ(record.status, Status::kFailed) << mode << " " << pass << " " << poisoned;
        EXPECT_THAT(record.scope, StartsWith(scope)) << mode << " " << pass << " " << poisoned << ": " << record.reason;
      }
    }
  }
}

TEST(FirstNan, DistinguishesInfinityFromNan) {
  const Record record =
      run_with("layers.0.attn.q_proj.weight", std::numeric_limits<float>::infinity(), {{"pass", "step"}});
  EXPECT_THAT(record.reason, HasSubstr("the first infinity is an output of"));
  EXPECT_EQ(record.scope, "layers.0.attn.q_proj");
}

// Excessive weight decay multiplies the weights by -1e12 in every step, so the run fails after a few steps, in a step
// that begins with finite weights.
TEST(FirstNan, IsFoundInALaterStep) {
  const Record record =
      run_one(test::point_of(kTwoLayers, {{"lr", "1e6"}, {"weight-decay", "1e6"}, {"warmup", "0"}, {"steps", "9"}}), {})
          .record;
  ASSERT_EQ(record.status, Status::kFailed) << record.loss.values.size();
  EXPECT_GT(record.loss.values.size(), 1U);
  EXPECT_FALSE(record.op.empty()) << record.reason;
  EXPECT_NE(record.op, "embedding") << record.reason;
}

// The default rule puts several of these short steps into a sample, which ends after the step that fails.
TEST(FirstNan, IsFoundWithinASampleOfSeveralSteps) {
  const auto run = [](const char* warmup, const char* steps) {
    const test::Options options{{"lr", "300"}, {"weight-decay", "1"}, {"warmup", warmup}, {"steps", steps}};
    return run_one(test::point_of(kTwoLayers, options), {}).record;
  };
  const Record single = run("0", "60");
  ASSERT_EQ(single.status, Status::kFailed);
  ASSERT_GT(single.loss.values.size(), 2U) << "each of the first two steps is a sample";
  const Record several = run("auto", "auto");
  EXPECT_EQ(several.loss.values.size(), single.loss.values.size());
  EXPECT_EQ(several.reason, single.reason);
  EXPECT_EQ(several.op, single.op);
  EXPECT_EQ(several.scope, single.scope);
}

TEST(FirstNan, IsEmptyForAHealthyRun) {
  for (const std::string edition : {"2024", "2025", "2026", "gpt2"}) {
    for (const std::string mode : {"eager", "compile"}) {
      for (const std::string dtype : {"float32", "bfloat16"}) {
        const RunConfig config =
            test::point_of(kTwoLayers, {{"edition", edition}, {"mode", mode}, {"dtype", dtype}}).config;
        const Device device = find_device(config);
        const std::unique_ptr<Backend> backend = device.open(0);
        const auto site = find_first_nan(prepare(config, device, {}), *backend, StartingWeights(config), 2, {});
        EXPECT_FALSE(site.has_value()) << edition << " " << mode << " " << dtype << ": " << site->op << " in "
                                       << site->scope;
      }
    }
  }
}

TEST(FirstNan, StopsOnRequest) {
  const RunConfig config = test::point_of(kTwoLayers).config;
  const Device device = find_device(config);
  const std::unique_ptr<Backend> backend = device.open(0);
  int asked = 0;
  const auto stop = [&] { return ++asked > 2; };
  EXPECT_FALSE(find_first_nan(prepare(config, device, {}), *backend, StartingWeights(config), 1000, stop).has_value());
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace laptime
