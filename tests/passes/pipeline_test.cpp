// All passes together: their order, the phases of a step, and compile mode compared with eager mode.
#include "passes/pipeline.h"

#include <gtest/gtest.h>

#include "passes/saved.h"
#include "passes/small_steps.h"

namespace laptime::test {
namespace {

TEST(Pipeline, ReportsItsPassesInOrder) {
  const auto passes_of = [](Pass pass, Precision dtype) {
    RunConfig config = tiny_config(Edition::k2025, dtype);
    config.pass = pass;
    std::vector<std::string> names;
    run_passes(build_train_step(config), eager_options(config),
               [&](const std::string& name, const Graph&) { names.push_back(name); });
    return names;
  };
  EXPECT_EQ(passes_of(Pass::kStep, Precision::kFloat32),
            (std::vector<std::string>{"model", "decompose", "differentiate", "dead_code"}));
  EXPECT_EQ(passes_of(Pass::kForward, Precision::kBFloat16),
            (std::vector<std::string>{"model", "decompose", "autocast", "decompose", "differentiate", "dead_code",
                                      "cut_forward"}));
}

// `--pass backward` also runs forward, because backward is timed within a step; only `step` has an optimizer.
TEST(Pipeline, StepHasThePhasesOfItsPass) {
  const cpu::CpuBackend backend(reference_kernels(), 1);
  const auto phases_of = [&](Pass pass) {
    RunConfig config = tiny_config(Edition::k2024);
    config.pass = pass;
    const Plan plan = make_plan(run_passes(build_train_step(config), eager_options(config)), first_kernel(backend));
    std::vector<Phase> phases;
    for (const PlanStep& step : plan.steps) {
      if (phases.empty() || phases.back() != step.phase) phases.push_back(step.phase);
    }
    return phases;
  };
  EXPECT_EQ(phases_of(Pass::kInference), (std::vector<Phase>{Phase::kForward}));
  EXPECT_EQ(phases_of(Pass::kForward), (std::vector<Phase>{Phase::kForward}));
  EXPECT_EQ(phases_of(Pass::kBackward), (std::vector<Phase>{Phase::kForward, Phase::kBackward}));
  EXPECT_EQ(phases_of(Pass::kForwardBackward), (std::vector<Phase>{Phase::kForward, Phase::kBackward}));
  EXPECT_EQ(phases_of(Pass::kStep), (std::vector<Phase>{Phase::kForward, Phase::kBackward, Phase::kOptimizer}));
}

// transformers' head is an nn.Linear, whose weight gradient arrives contiguous.
TEST(Eager, TransformersHeadGradientNeedsNoCopy) {
  for (const Edition edition :
       {Edition::kGpt2Hf, Edition::kLlama, Edition::kQwen2, Edition::kQwen3, Edition::kGptNeox}) {
    const RunConfig config = tiny_config(edition);
    const Shape head{config.model.vocab_size, config.model.d_model};
    const Graph graph = step_graph(config, eager_options(config));
    for (const Node& node : graph.nodes) {
      const bool copies = std::string_view(node.op->name) == "contiguous";
      EXPECT_FALSE(copies && graph.value(node.outputs[0]).type.shape() == head) << name_of(edition);
    }
  }
}

// The norms of each head of q and k read 16-bit values. transformers converts them to float32 once, and rounds x rstd
// before multiplying by the weight.
TEST(Eager, SixteenBitNormCastsToFloat32AndBackOnce) {
  const RunConfig config = tiny_config(Edition::kQwen3, Precision::kBFloat16);
  const Graph graph = step_graph(config, eager_options(config));
  std::vector<std::string> casts;
  for (const Node& node : graph.nodes) {
    const bool is_forward = node.annotations.phase == Phase::kForward;
    if (is_forward && std::string_view(node.op->name) == "cast" && node.annotations.scope == "layers.0.attn.q_norm")
      casts.emplace_back(name_of(graph.value(node.outputs[0]).type.dtype));
  }
  EXPECT_EQ(casts, (std::vector<std::string>{"float32", "bfloat16"}));
}

void expect_eager_losses_in_compile_mode(const RunConfig& config) {
  const std::vector<double> eager = losses(config, eager_options(config));
  const std::vector<double> compiled = losses(config, compile_options(config));
  const double tolerance = config.dtype == Precision::kFloat32 ? 2e-6 : 4e-3;
  for (size_t i = 0; i < eager.size(); ++i)
    EXPECT_NEAR(compiled[i] / eager[i], 1, tolerance)
        << name_of(config.model.edition) << ' ' << name_of(config.dtype) << " step " << i;
}

TEST(Compile, MatchesEagerLosses) {
  for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
    for (const Edition edition : kEditions) expect_eager_losses_in_compile_mode(tiny_config(edition, dtype));
    expect_eager_losses_in_compile_mode(odd_config(dtype));
  }
}

TEST(Compile, MatchesEagerLossesWithDropout) {
  RunConfig config = tiny_config(Edition::k2024);
  config.model.embd_pdrop = config.model.attn_pdrop = config.model.resid_pdrop = 0.2;
  expect_eager_losses_in_compile_mode(config);
}

TEST(Compile, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
    const RunConfig config = odd_config(dtype);
    const std::vector<std::byte> one = bits(config, compile_options(config), 1);
    EXPECT_EQ(one, bits(config, compile_options(config), 1));
    EXPECT_EQ(one, bits(config, compile_options(config), 2));
    EXPECT_EQ(one, bits(config, compile_options(config), 3));
  }
}

TEST(Compile, RunsKeptComposites) {
  const RunConfig config = tiny_config(Edition::k2025);
  PipelineOptions passes = compile_options(config);
  const Graph whole = step_graph(config, passes);
  EXPECT_GT(count(whole, "rms_norm"), 0);
  EXPECT_EQ(count(whole, "rsqrt"), 0);
  std::erase(passes.keep, "rms_norm");
  const Graph lowered = step_graph(config, passes);
  EXPECT_EQ(count(lowered, "rms_norm"), 0);
  EXPECT_GT(count(lowered, "rsqrt"), 0);
  const std::vector<double> a = losses(config, compile_options(config));
  const std::vector<double> b = losses(config, passes);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i] / b[i], 1, 2e-6);
}

// The editions have tied and untied heads, with and without a bias.
TEST(Compile, ComputesTheLossWithoutMaterializingAllLogits) {
  for (const Edition edition : kEditions) {
    for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(edition), name_of(dtype)));
      RunConfig config = tiny_config(edition, dtype);
      config.model.vocab_size = 10 * config.model.d_model;
      config.model.batch_size = 4;
      const PipelineOptions whole = compile_options(config, true);
      const std::vector<double> with_logits = losses(config, compile_options(config));
      const std::vector<double> without = losses(config, whole);
      for (size_t i = 0; i < with_logits.size(); ++i)
        EXPECT_NEAR(without[i] / with_logits[i], 1, dtype == Precision::kFloat32 ? 2e-6 : 4e-3) << "step " << i;
      const std::vector<std::byte> one = bits(config, whole, 1);
      EXPECT_EQ(one, bits(config, whole, 2));
      EXPECT_EQ(one, bits(config, whole, 3));
      EXPECT_GT(count(step_graph(config, whole), "cross_entropy"), 1) << "the loss does not run in groups of rows";
    }
  }
}

// After all passes, the region of each node is the layer and the part that its scope names.
TEST(Passes, KeepRegionsConsistentWithScopes) {
  for (const Edition edition : kEditions) {
    RunConfig config = tiny_config(edition, Precision::kBFloat16);
    config.clip_norm = 1;
    for (PipelineOptions passes : {eager_options(config), compile_options(config)}) {
      passes.recompute.group = 1;
      passes.recompute.layers = 2;
      int in_layers = 0;
      for (const Node& node : step_graph(config, passes).nodes) {
        const std::string& scope = node.annotations.scope;
        const Region& region = node.annotations.region;
        if (region.layer < 0) {
          EXPECT_FALSE(scope.starts_with("layers.")) << node.op->name << " in " << scope;
          EXPECT_TRUE(region.part.empty() ? scope.empty() : scope.starts_with(region.part)) << scope;
          continue;
        }
        ++in_layers;
        const std::string prefix = layer_scope(region.layer) + (region.part.empty() ? "" : "." + region.part);
        EXPECT_TRUE(scope.starts_with(prefix)) << node.op->name << " in " << scope << ", region " << prefix;
      }
      EXPECT_GT(in_layers, 40);
    }
  }
}

}  // namespace
}  // namespace laptime::test
