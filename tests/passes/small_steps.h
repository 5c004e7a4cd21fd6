// Small training steps with given passes, and counts of the ops in their graphs.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "support/training.h"

namespace laptime::test {

inline constexpr int kTrainingSteps = 3;

// The losses of the first kTrainingSteps steps.
inline std::vector<double> losses(const RunConfig& config, const PipelineOptions& passes) {
  Training training(config, {.passes = passes});
  std::vector<double> values;
  for (int step = 0; step < kTrainingSteps; ++step) {
    training.step();
    values.push_back(training.loss());
  }
  return values;
}

// The bits of the loss, logits and gradients of the last of kTrainingSteps steps, and of the weights after that step.
inline std::vector<std::byte> bits(const RunConfig& config, const PipelineOptions& passes, int threads = 1) {
  Training training(config, {.threads = threads, .passes = passes});
  for (int step = 0; step < kTrainingSteps; ++step) training.step();
  return training.everything();
}

inline Graph step_graph(const RunConfig& config, const PipelineOptions& passes) {
  return run_passes(build_train_step(config), passes);
}

inline int64_t count(const Graph& graph, const std::string& op) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op->name == op; });
}

}  // namespace laptime::test
