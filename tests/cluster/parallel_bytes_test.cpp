// Compares the bytes of a rank, which plan_parallel extrapolates from two layers, with plans of all layers.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "cluster/parallel_plan.h"
#include "points/resolve.h"
#include "prepare/device.h"
#include "prepare/prepare.h"

namespace laptime {
namespace {

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

TEST(ParallelBytes, CompiledStepThatDoesNotFitRecomputesCheapOps) {
  SharePlans plans;
  const RunConfig config = resolve({{"model", "2.7B"},
                                    {"context", "2048"},
                                    {"batch", "6"},
                                    {"dtype", "bfloat16"},
                                    {"mode", "compile"},
                                    {"device", "roofline:h100"}})
                               .config;
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

}  // namespace
}  // namespace laptime
