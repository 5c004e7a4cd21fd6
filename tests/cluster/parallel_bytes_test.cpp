// Compares the bytes and the time of a rank, which plan_parallel extrapolates from two layers, with plans of all
// layers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "cluster/parallel_plan.h"
#include "points/resolve.h"
#include "prepare/device.h"
#include "prepare/prepare.h"
#include "prepare/resolved_point.h"
#include "prepare/time_forecast.h"
#include "support/config_of.h"

namespace laptime {
namespace {

using test::config_of;

TEST(ParallelBytes, SlowMatchesTheBytesOfAPlanOfAllLayers) {
  SharePlans plans;
  struct Case {
    const char *edition, *dtype, *mode, *recompute;
    const char* lower = "none";
    const char* batch = "8";
  };
  for (const Case& one :
       {Case{"qwen3", "bfloat16", "eager", "none"}, Case{"qwen3", "bfloat16", "compile", "none"},
        Case{"llama", "float32", "eager", "none"}, Case{"llama", "float32", "compile", "none"},
        Case{"llama", "bfloat16", "compile", "none", "scaled_dot_product_attention"},
        Case{"llama", "bfloat16", "eager", "block"}, Case{"llama", "bfloat16", "compile", "block", "none", "64"},
        Case{"llama", "float32", "compile", "block", "none", "64"}}) {
    std::vector<GivenOption> given{
        {"edition", one.edition}, {"dtype", one.dtype}, {"mode", one.mode},         {"recompute", one.recompute},
        {"model", "custom"},      {"d-model", "512"},   {"d-ff", "1536"},           {"num-heads", "8"},
        {"num-kv-heads", "4"},    {"num-layers", "8"},  {"vocab", "8192"},          {"context", "512"},
        {"batch", one.batch},     {"head-dim", "128"},  {"device", "roofline:h100"}};
    if (one.lower != std::string_view("none")) given.push_back({"lower", one.lower});
    const RunConfig config = resolve(given).config;
    ParallelChoice alone;
    if (config.recompute == "block") alone.checkpointing = Checkpointing::kFull;
    const ParallelPlan plan = plan_parallel(config, Program::kLaptime, alone, plans);
    EXPECT_EQ(plan.refusal, "");
    const Prepared all_layers = prepare(config, find_device(config), {});
    const auto peak = static_cast<double>(all_layers.memory.predicted_peak_bytes.value());
    EXPECT_NEAR(plan.bytes.allocated() / peak, 1, 0.02) << one.edition << ' ' << one.dtype << ' ' << one.mode << ' '
                                                        << one.recompute << ' ' << one.lower << ' ' << one.batch;
  }
}

// For Megatron, a plan of all layers also counts casts, which Megatron's 16-bit values do not need.
TEST(ParallelTime, OneRankTakesAsLongAsAPlanOfAllLayers) {
  SharePlans plans;
  for (const Program program :
       {Program::kLaptime, Program::kPyTorchEager, Program::kPyTorchCompile, Program::kMegatron}) {
    for (const char* optimizer : {"2025", "torch"}) {
      const RunConfig config =
          config_of(fmt::format("model small context 128 batch 1 dtype bfloat16 optimizer {} clip-norm 1 device "
                                "roofline:h100",
                                optimizer));
      const ParallelPlan plan = plan_parallel(config, program, ParallelChoice(), plans);
      const RunConfig own = config_as(plan.run.config, program);
      const Device device = find_device_of(own, program);
      const Prepared all_layers = prepare(own, device, {});
      double seconds = 0;
      for (const ForecastLaunch& launch : TimeForecast::of(device, {})->of(all_layers.plan)) seconds += launch.seconds;
      EXPECT_NEAR(plan.time.step / seconds, 1, 0.03) << name_of(program) << ' ' << optimizer;
    }
  }
}

TEST(ParallelBytes, ClippingBytesMatchAPlanOfAllLayers) {
  SharePlans plans;
  struct Case {
    const char *edition, *mode, *micro_batches;
  };
  for (const auto& [edition, mode, micro_batches] :
       {Case{"qwen3", "eager", "1"}, Case{"gpt2", "compile", "1"}, Case{"gpt2", "compile", "2"}}) {
    const RunConfig config =
        config_of(fmt::format("edition {} model custom d-model 256 d-ff 768 num-heads 4 num-layers 8 vocab 32768 "
                              "context 16 batch 2 mode {} micro-batches {} clip-norm 1 device roofline:h100",
                              edition, mode, micro_batches));
    ParallelChoice alone;
    alone.micro_batches = config.micro_batches;
    const ParallelPlan plan = plan_parallel(config, Program::kLaptime, alone, plans);
    EXPECT_EQ(plan.refusal, "");
    const Prepared all_layers = prepare(config, find_device(config), {});
    const auto peak = static_cast<double>(all_layers.memory.predicted_peak_bytes.value());
    EXPECT_NEAR(plan.bytes.allocated() / peak, 1, 0.02) << edition << ' ' << mode << ' ' << micro_batches;
  }
}

// The machine file describes no links, so the plan has bytes but no time.
TEST(ParallelBytes, BytesIncludeReductionBuckets) {
  SharePlans plans;
  for (const Choice<Shard>& shard : choices_of(Shard{})) {
    for (const char* mode : {"eager", "compile"}) {
      RunConfig config =
          config_of(fmt::format("edition qwen3 model custom d-model 512 d-ff 1536 num-heads 8 num-layers 8 vocab "
                                "32768 context 64 batch 4 mode {} device roofline:epyc-9554",
                                mode));
      ParallelChoice two;
      two.layout.ranks = 2;
      two.layout.shard = shard.value;
      const double predicted = plan_parallel(config, Program::kLaptime, two, plans).bytes.allocated();
      config.device = "cpu";
      config.ranks = 2;
      config.shard = shard.value;
      const Prepared all_layers = prepare(config, find_device(config), {});
      const auto peak = static_cast<double>(all_layers.memory.predicted_peak_bytes.value());
      EXPECT_NEAR(predicted / peak, 1, 0.05) << name_of(shard.value) << ' ' << mode;
    }
  }
}

TEST(ParallelBytes, CompiledStepThatDoesNotFitRecomputesCheapOps) {
  SharePlans plans;
  const RunConfig config =
      config_of("model 2.7B context 2048 batch 6 dtype bfloat16 mode compile device roofline:h100");
  const ParallelPlan plan = plan_parallel(config, Program::kLaptime, ParallelChoice(), plans);
  const Prepared all_layers = prepare(config, find_device(config), {});
  ASSERT_EQ(all_layers.recompute.text, "cheap ops");
  EXPECT_TRUE(plan.fits());
  const auto peak = static_cast<double>(all_layers.memory.predicted_peak_bytes.value());
  EXPECT_NEAR(plan.bytes.total() / peak, 1, 0.02);
  RunConfig roomy = config;
  roomy.device = "roofline:h200";
  EXPECT_GT(plan_parallel(roomy, Program::kLaptime, ParallelChoice(), plans).bytes.total(), peak);
}

TEST(ParallelBytes, UnfusedAttentionMatchesAPlanOfAllLayers) {
  SharePlans plans;
  struct Bytes {
    double predicted, planned;
  };
  const auto bytes = [&](const std::vector<GivenOption>& more) {
    std::vector<GivenOption> given{{"context", "1024"}, {"batch", "4"}, {"device", "roofline:h100"}};
    given.insert(given.end(), more.begin(), more.end());
    const RunConfig config = resolve(given).config;
    const RunConfig eager = config_as(config, Program::kPyTorchEager);
    const Prepared all_layers = prepare(eager, find_device(eager), {});
    return Bytes{
        plan_parallel(config, Program::kPyTorchEager, ParallelChoice(), plans).bytes.allocated(),
        static_cast<double>(all_layers.memory.predicted_peak_bytes.value()),
    };
  };
  const Bytes qwen = bytes({{"model", "Qwen3-0.6B"}});
  EXPECT_NEAR(qwen.predicted / qwen.planned, 1, 0.02);
  for (const char* dtype : {"float32", "bfloat16"}) {
    const auto gpt2 = [&](const char* pdrop) {
      return bytes({{"model", "gpt2"}, {"dtype", dtype}, {"attn-pdrop", pdrop}});
    };
    const Bytes without = gpt2("0"), with = gpt2("0.1");
    EXPECT_NEAR((with.predicted - without.predicted) / (with.planned - without.planned), 1, 0.02) << dtype;
  }
}

}  // namespace
}  // namespace laptime
