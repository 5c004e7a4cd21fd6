// decompose: composites and their decompositions give the same loss and keep phases, scopes and names.
#include "passes/decompose.h"

#include <gtest/gtest.h>

#include <set>

#include "support/training.h"

namespace laptime::test {
namespace {

std::set<std::string> composites_of(const Graph& graph) {
  std::set<std::string> names;
  for (const Node& node : graph.nodes) {
    if (node.op->decompose != nullptr) names.insert(node.op->name);
  }
  return names;
}

// The composites of a model, including those that appear when another composite is lowered.
std::set<std::string> composites_within(const Graph& model) {
  const std::set<std::string> written = composites_of(model);
  std::set<std::string> all = written;
  for (const std::string& lowered : written) {
    std::vector<std::string> keep;
    for (const OpCard* op : all_ops()) {
      if (op->name != lowered) keep.emplace_back(op->name);
    }
    all.merge(composites_of(decompose(model, keep)));
  }
  return all;
}

RunConfig inference(Edition edition) {
  RunConfig config = tiny_config(edition);
  config.pass = Pass::kInference;
  return config;
}

double loss_keeping(const RunConfig& config, const std::vector<std::string>& keep) {
  PipelineOptions passes = eager_options(config);
  passes.keep = keep;
  Training training(config, {.references = true, .real = DType::kFloat64, .passes = passes});
  training.step();
  return training.loss();
}

TEST(Decompose, SlowGivesTheSameLossWithAnyCompositeKept) {
  for (const Edition edition : kEditions) {
    const RunConfig config = inference(edition);
    const double lowered = loss_keeping(config, {});
    const std::set<std::string> composites = composites_within(build_train_step(config, {}, DType::kFloat64));
    EXPECT_GE(composites.size(), 2U);
    for (const std::string& composite : composites) {
      EXPECT_NEAR(loss_keeping(config, {composite}) / lowered, 1, 1e-13) << composite;
    }
    EXPECT_NEAR(loss_keeping(config, {composites.begin(), composites.end()}) / lowered, 1, 1e-13);
  }
}

TEST(Decompose, SlowGivesTheSameWeightsWithAdamWLowered) {
  for (const Optimizer optimizer : {Optimizer::k2025, Optimizer::k2026, Optimizer::kTorch}) {
    RunConfig config = tiny_config(Edition::k2024);
    config.optimizer = optimizer;
    Training lowered(config, {.references = true, .real = DType::kFloat64});
    PipelineOptions passes = eager_options(config);
    passes.keep = {"adamw"};
    Training whole(config, {.references = true, .real = DType::kFloat64, .passes = passes});
    for (int step = 0; step < 2; ++step) {
      lowered.step();
      whole.step();
    }
    for (const ParameterSpec& parameter : parameter_list(config.model)) {
      const std::vector<double> expected = lowered.source(parameter.name);
      const std::vector<double> actual = whole.source(parameter.name);
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-15) << parameter.name;
    }
  }
}

TEST(Decompose, LowersAllCompositesThatAreNotKept) {
  for (const Edition edition : kEditions) {
    const Graph model = build_train_step(tiny_config(edition));
    const Graph lowered = decompose(model, {});
    verify(lowered, "decompose");
    for (const std::string& left : composites_of(lowered)) {
      // A composite remains if PyTorch runs it as one kernel with the same attributes. Lowering the graph again changes
      // nothing.
      EXPECT_EQ(decompose(lowered, {}).nodes.size(), lowered.nodes.size()) << left;
    }
    EXPECT_TRUE(composites_of(decompose(model, {"rms_norm", "layer_norm"}))
                    .contains(edition == Edition::kGpt2 ? "layer_norm" : "rms_norm"));
  }
}

TEST(Decompose, KeepsPhasesScopesAndNames) {
  const Graph model = build_train_step(tiny_config(Edition::k2025));
  const Graph lowered = decompose(model, {});
  std::set<std::string> scopes;
  std::set<std::string> names;
  std::set<Phase> phases;
  for (const Node& node : lowered.nodes) {
    scopes.insert(node.annotations.scope);
    phases.insert(node.annotations.phase);
  }
  for (const Value& value : lowered.values) names.insert(value.annotations.name);
  for (const Node& node : model.nodes) EXPECT_TRUE(phases.contains(node.annotations.phase));
  for (const Value& value : model.values) EXPECT_TRUE(names.contains(value.annotations.name)) << value.annotations.name;
  EXPECT_TRUE(scopes.contains("layers.1.attn.weights"));
  EXPECT_TRUE(scopes.contains("layers.0.ln1"));
  EXPECT_EQ(lowered.outputs.size(), model.outputs.size());
}

}  // namespace
}  // namespace laptime::test
