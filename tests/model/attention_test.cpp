// --model attention: values, gradients (compared with central differences), and saved bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "config/model_presets.h"
#include "data/init.h"
#include "model/train_step.h"
#include "ops/registry.h"
#include "passes/pipeline.h"
#include "passes/saved.h"
#include "support/evaluate.h"

namespace laptime::test {
namespace {

struct Form {
  bool causal = true;
  bool projections = false;
};
constexpr Form kForms[] = {{true, false}, {false, false}, {true, true}, {false, true}};

RunConfig attention_config(const Form& form = {}) {
  RunConfig config;
  config.model = {
      .name = std::string(kAttentionModel), .d_model = 3, .num_heads = 1, .context_length = 5, .batch_size = 2};
  config.model.causal = form.causal;
  config.model.projections = form.projections;
  config.pass = Pass::kForwardBackward;
  return config;
}

std::vector<ParameterSpec> sources_of(const RunConfig& config) {
  ModelSummary summary = summarize(config.model);
  std::vector<ParameterSpec> sources = std::move(summary.parameters);
  sources.insert(sources.end(), summary.inputs.begin(), summary.inputs.end());
  return sources;
}

using Values = std::map<std::string, std::vector<double>>;  // source name -> elements

Values starting_values(const RunConfig& config) {
  Values values;
  for (const ParameterSpec& spec : sources_of(config)) {
    std::vector<float> start(static_cast<size_t>(Shape(std::span(spec.shape)).product()));
    fill_parameter(spec, WeightInit::kEdition, 7, 0, start);
    values[spec.name] = {start.begin(), start.end()};
  }
  return values;
}

std::vector<double> output_of(const Graph& graph, const Values& values, const std::string& output) {
  Evaluation evaluation(graph);
  for (const auto& [name, elements] : values) evaluation.set(graph.find_source(name), elements);
  evaluation.run();
  return evaluation.values(graph.find_output(output));
}

Graph lowered(const RunConfig& config, bool compile, DType real = DType::kFloat64) {
  PipelineOptions options;
  options.compile = compile;
  options.recompute.local = compile;
  for (const OpCard* op : all_ops()) {
    if (compile && op->decompose != nullptr) options.keep.emplace_back(op->name);
  }
  return run_passes(build_train_step(config, {}, real), options);
}

double total(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

// softmax(q k^T / sqrt(C)) v in plain loops, with B = 2, T = 5, C = 3.
std::vector<double> by_hand(const Values& values, bool causal) {
  constexpr size_t kT = 5, kC = 3;
  const auto& q = values.at("q");
  const auto& k = values.at("k");
  const auto& v = values.at("v");
  std::vector<double> out(q.size(), 0.0);
  for (size_t row = 0; row < q.size() / kC; ++row) {
    const size_t first = row / kT * kT;
    const size_t keys = causal ? row % kT + 1 : kT;
    std::vector<double> weights(keys);
    for (size_t key = 0; key < keys; ++key) {
      double dot = 0;
      for (size_t i = 0; i < kC; ++i) dot += q[row * kC + i] * k[(first + key) * kC + i];
      weights[key] = std::exp(dot / std::sqrt(static_cast<double>(kC)));
    }
    for (size_t key = 0; key < keys; ++key) {
      for (size_t i = 0; i < kC; ++i) out[row * kC + i] += weights[key] / total(weights) * v[(first + key) * kC + i];
    }
  }
  return out;
}

TEST(Attention, MatchesPlainLoops) {
  for (const bool causal : {true, false}) {
    const RunConfig config = attention_config({causal, false});
    const Values values = starting_values(config);
    const std::vector<double> expected = by_hand(values, causal);
    for (const bool compile : {false, true}) {
      const std::vector<double> found = output_of(lowered(config, compile), values, output::kValues);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
    }
  }
}

TEST(Attention, GradientsMatchCentralDifferences) {
  for (const Form& form : kForms) {
    const RunConfig config = attention_config(form);
    for (const bool compile : {false, true}) {
      const Graph graph = lowered(config, compile);
      const Values start = starting_values(config);
      for (const ParameterSpec& spec : sources_of(config)) {
        const std::vector<double> gradient = output_of(graph, start, output::kGradient + spec.name);
        for (const size_t i : {size_t{0}, gradient.size() / 2, gradient.size() - 1}) {
          constexpr double kStep = 1e-6;
          Values moved = start;
          moved[spec.name][i] = start.at(spec.name)[i] + kStep;
          const double above = total(output_of(graph, moved, output::kValues));
          moved[spec.name][i] = start.at(spec.name)[i] - kStep;
          const double below = total(output_of(graph, moved, output::kValues));
          EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-7)
              << spec.name << ' ' << i << (compile ? " compile" : " eager") << (form.causal ? " causal" : " full");
        }
      }
    }
  }
}

// Eager mode saves q, k, v, the exponentials and the weights (B T T each), the mask, and for each row the sum and the
// index of the maximum (int64). Compile mode saves q, k, v, the output and the log-sum-exp of each row.
TEST(Attention, SavedBytesMatchHandComputedValues) {
  RunConfig config = attention_config();
  config.model.context_length = 10;
  config.model.d_model = 6;
  const auto saved = [&](bool compile) { return saved_bytes(lowered(config, compile, DType::kFloat32)); };
  const int64_t batch = 2, positions = 10, width = 6;
  const int64_t number = 4, index = 8;  // sizes in bytes
  const int64_t rows = batch * positions;
  const int64_t inputs = 3 * number * rows * width;
  EXPECT_EQ(saved(false), inputs + 2 * number * rows * positions + (number + index) * rows + positions * positions);
  EXPECT_EQ(saved(true), inputs + number * rows * width + number * rows);
  config.model.causal = false;
  EXPECT_EQ(saved(false), inputs + 2 * number * rows * positions + (number + index) * rows);
}

TEST(Attention, InferenceHasNoGradients) {
  RunConfig config = attention_config();
  config.pass = Pass::kInference;
  const Graph graph = build_train_step(config);
  ASSERT_EQ(graph.outputs.size(), 1U);
  EXPECT_EQ(graph.outputs[0].name, output::kValues);
}

}  // namespace
}  // namespace laptime::test
