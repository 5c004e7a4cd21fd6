// Model, then passes.
#include "run/step_graph.h"

#include <algorithm>

#include "base/error.h"
#include "model/gpt.h"
#include "ops/registry.h"

namespace laptime {
namespace {

constexpr std::string_view kNone = "none";

// "a+b" -> its members, each a composite; "none" -> no member.
std::vector<std::string> members(const std::string& where, const std::string& set) {
  std::vector<std::string> names;
  if (set == kNone) return names;
  const std::vector<std::string_view> known = composites();
  for (size_t begin = 0; begin <= set.size();) {
    const size_t end = std::min(set.find('+', begin), set.size());
    names.push_back(set.substr(begin, end - begin));
    if (std::find(known.begin(), known.end(), names.back()) == known.end())
      reject_word(where, "composite", names.back(), known);
    begin = end + 1;
  }
  return names;
}

std::vector<std::string> kept(const RunConfig& config) {
  if (config.mode == Mode::kEager) return kept_by_eager(config.model.edition);
  if (config.keep) return members("--keep", *config.keep);
  const std::vector<std::string> lowered =
      config.lower ? members("--lower", *config.lower) : std::vector<std::string>();
  std::vector<std::string> names;
  for (const std::string_view name : composites()) {
    if (std::find(lowered.begin(), lowered.end(), name) == lowered.end()) names.emplace_back(name);
  }
  return names;
}

}  // namespace

std::vector<std::string_view> composites() {
  std::vector<std::string_view> names;
  for (const OpCard* op : all_ops()) {
    if (op->decompose != nullptr) names.emplace_back(op->name);
  }
  return names;
}

std::vector<std::string> composites_of(const RunConfig& config) {
  const Graph graph = build_train_step(config);
  std::vector<std::string> names;
  for (const std::string_view name : composites()) {
    const bool used =
        std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op->name == name; });
    if (used) names.emplace_back(name);
  }
  return names;
}

RecomputeRule recompute_rule(const RunConfig& config) {
  return {.local = config.mode == Mode::kCompile,
          .group = recompute_group(config.recompute),
          .layers = config.model.num_layers};
}

PipelineOptions pipeline_options(const RunConfig& config) {
  return {.keep = kept(config),
          .lower = autocast_dtype(config.dtype),
          .forward_only = config.pass == Pass::kForward,
          .compile = config.mode == Mode::kCompile,
          .recompute = recompute_rule(config),
          .optimizer_in_backward = config.optimizer_in_backward};
}

Graph lowered_graph(const RunConfig& config, const RecomputeRule& rule, const StepOutputs& keep,
                    const PassObserver& observer) {
  PipelineOptions options = pipeline_options(config);
  options.recompute = rule;
  return run_passes(build_train_step(config, keep), options, observer);
}

Graph lowered_graph(const RunConfig& config, const StepOutputs& keep, const PassObserver& observer) {
  return lowered_graph(config, recompute_rule(config), keep, observer);
}

}  // namespace laptime
