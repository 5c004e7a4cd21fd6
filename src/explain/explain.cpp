// Collects the explanation of a point from its graph and plan.
#include "explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/words.h"
#include "config/fields_json.h"
#include "explain/thread_bounds.h"
#include "model/model_card.h"
#include "model/parameters.h"
#include "ops/registry.h"
#include "passes/saved.h"
#include "plan/elide.h"
#include "prepare/device.h"
#include "prepare/fit_recompute.h"
#include "prepare/kernel_choice.h"
#include "prepare/knowledge.h"
#include "prepare/memory_check.h"
#include "prepare/prepare.h"
#include "prepare/step_graph.h"

namespace laptime {
namespace {

// "layers.*.ln1.weight" for the parameter ln1.weight of any layer.
std::string name_in_any_layer(const ParameterSpec& parameter) {
  if (parameter.region.layer < 0) return parameter.name;
  return kAnyLayerScope + parameter.name.substr(layer_scope(parameter.region.layer).size());
}

std::vector<ParameterGroup> parameter_groups(const std::vector<ParameterSpec>& parameters) {
  std::vector<ParameterGroup> groups;
  for (const ParameterSpec& parameter : parameters) {
    const std::string name = name_in_any_layer(parameter);
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const ParameterGroup& known) { return known.name == name; });
    if (group == groups.end()) group = groups.insert(groups.end(), {name, parameter.shape, 0, 0});
    Size size = 1;
    for (const int64_t extent : parameter.shape) size *= extent;
    ++group->tensors;
    group->parameters = (Size(group->parameters) + size).value();
  }
  return groups;
}

PassOutcome outcome_of(const std::string& pass, const Graph& graph) {
  PassOutcome outcome;
  outcome.pass = pass;
  for (const Node& node : graph.nodes) {
    ++outcome.nodes;
    outcome.views += node.op->kind == OpKind::kView ? 1 : 0;
    switch (node.annotations.phase) {
      case Phase::kSetup: ++outcome.setup; break;
      case Phase::kForward: ++outcome.forward; break;
      case Phase::kBackward: ++outcome.backward; break;
      case Phase::kOptimizer: ++outcome.optimizer; break;
    }
  }
  return outcome;
}

void add_composites(const Graph& graph, std::set<std::string_view>& names) {
  for (const Node& node : graph.nodes) {
    if (node.op->decompose != nullptr) names.insert(node.op->name);
  }
}

// Adds the work of a node to the row for (phase, kind, op), creating the row if needed.
void add_work(std::vector<Work>& rows, const Work& key, double flops, int64_t bytes) {
  auto row = std::find_if(rows.begin(), rows.end(), [&](const Work& known) {
    return known.phase == key.phase && known.kind == key.kind && known.op == key.op;
  });
  if (row == rows.end()) row = rows.insert(rows.end(), key);
  ++row->nodes;
  row->flops += flops;
  row->bytes = (Size(row->bytes) + bytes).value();
}

// The nodes that a plan of the graph launches: not views, not assignments whose value is written in place, and not what
// the device's program fuses.
std::vector<const Node*> launched_nodes(const Graph& graph, const Device* device) {
  const Elision elided = elide_assignments(graph);
  std::vector<const Node*> nodes;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op->kind == OpKind::kView || elided.dropped[i]) continue;
    if (device == nullptr || !is_fused(*device, work_class_of(node), node.annotations.region)) nodes.push_back(&node);
  }
  return nodes;
}

void count_work(const Graph& graph, const Device* device, Explanation& explanation) {
  for (const Node* const node : launched_nodes(graph, device)) {
    if (node->annotations.phase == Phase::kSetup) continue;
    const Signature signature = signature_of(graph, *node);
    const double flops = flops_of(signature);
    const int64_t bytes = bytes_of(signature);
    const std::string phase = name_of(node->annotations.phase);
    const std::string kind = name_of(node->op->kind);
    add_work(explanation.phases, {phase, {}, {}}, flops, bytes);
    add_work(explanation.kinds, {phase, kind, {}}, flops, bytes);
    add_work(explanation.ops, {phase, kind, node->op->name}, flops, bytes);
  }
  const auto has_more_work = [](const Work& a, const Work& b) {
    return a.phase == b.phase && (a.flops != b.flops ? a.flops > b.flops : a.bytes > b.bytes);
  };
  const auto sort_within_phases = [&](std::vector<Work>& rows) {
    for (auto begin = rows.begin(); begin != rows.end();) {
      const std::string phase = begin->phase;
      const auto end = std::stable_partition(begin, rows.end(), [&](const Work& row) { return row.phase == phase; });
      std::stable_sort(begin, end, has_more_work);
      begin = end;
    }
  };
  sort_within_phases(explanation.kinds);
  sort_within_phases(explanation.ops);
}

std::optional<StepOfRank> step_of_rank(const RunConfig& config, const Graph& graph) {
  if (config.ranks == 1) return std::nullopt;
  Size sent = 0;
  for (const Node& node : graph.nodes) {
    if (node.op->kind == OpKind::kCommunication) sent += bytes_of(signature_of(graph, node));
  }
  return StepOfRank{config.ranks, std::string(name_of(config.shard)), config.rank_batch(), config.step_context(),
                    sent.value()};
}

// The decision for one signature, for which `prepare` has found a kernel. The caller fills in the example and the
// fields that are totals over signatures.
KernelDecision decide_kernel(const KernelTable& kernels, const Signature& signature, const KernelChoices& choices,
                             const ChooseKernel& choose) {
  KernelDecision use;
  use.op = signature.op->name;
  int64_t contenders = 0;  // kernels that a trial would time
  const Kernel* chosen = choose(signature);
  LAPTIME_CHECK(chosen != nullptr, "no kernel for {}", signature.text());
  for (const Kernel& kernel : kernels.of(*signature.op)) {
    if (const std::string reason = refusal(kernel, kernels, signature, choices.rules); !reason.empty()) {
      use.refused.push_back({kernel.name, reason});
      continue;
    }
    contenders += kernel.name == kReferenceName ? 0 : 1;
    if (&kernel == chosen) continue;
    use.candidates.push_back(kernel.name);
    if (kernel.name != kReferenceName) use.rivals.push_back(kernel.name);
  }
  use.chosen = chosen->name;
  const std::string text = signature.text();
  use.chosen_by = choices.pinned.contains(text)                                                       ? "pinned"
                  : contenders <= 1                                                                   ? "alone"
                  : choices.takes_measured && measured_kernel(choices, text, {&chosen, 1}) != nullptr ? "measured"
                                                                                                      : "first";
  return use;
}

bool same_decision(const KernelDecision& a, const KernelDecision& b) {
  const auto same_refusal = [](const RefusedKernel& x, const RefusedKernel& y) {
    return x.kernel == y.kernel && x.reason == y.reason;
  };
  return a.op == b.op && a.chosen == b.chosen && a.chosen_by == b.chosen_by && a.candidates == b.candidates &&
         std::equal(a.refused.begin(), a.refused.end(), b.refused.begin(), b.refused.end(), same_refusal);
}

void decide_kernels(const Prepared& prepared, Explanation& explanation) {
  const Graph& graph = prepared.graph;
  const KernelTable& kernels = *prepared.device.kernels;
  const ChooseKernel choose = chooser(kernels, prepared.choices);
  std::map<std::string, int64_t> nodes;
  std::map<std::string, int64_t> launches;                    // text of a signature -> launches per step
  std::vector<std::pair<std::string, Signature>> signatures;  // distinct, in the order of the graph
  for (const Node* const node : launched_nodes(graph, &prepared.device)) {
    Signature signature = signature_of(graph, *node);
    std::string text = signature.text();
    if (node->annotations.phase != Phase::kSetup) ++launches[text];
    if (nodes[text]++ == 0) signatures.emplace_back(std::move(text), std::move(signature));
  }
  std::vector<KernelDecision>& uses = explanation.kernels;
  std::vector<ThreadBoundSum> sums;  // one for each of `uses`
  ThreadBoundSum step;
  for (const auto& [text, signature] : signatures) {
    const KernelDecision use = decide_kernel(kernels, signature, prepared.choices, choose);
    const std::vector<ThreadBound> bounds = thread_bounds(prepared, *choose(signature), signature);
    auto known =
        std::find_if(uses.begin(), uses.end(), [&](const KernelDecision& other) { return same_decision(use, other); });
    if (known == uses.end()) {
      known = uses.insert(uses.end(), use);
      known->example = text;
      sums.emplace_back();
    }
    known->nodes += nodes[text];
    ++known->signatures;
    sums[static_cast<size_t>(known - uses.begin())].add(signature, launches[text], bounds);
    step.add(signature, launches[text], bounds);
  }
  for (size_t i = 0; i < uses.size(); ++i) uses[i].threads = sums[i].of_kernel();
  explanation.threads = step.of_step();
  std::stable_sort(uses.begin(), uses.end(),
                   [](const KernelDecision& a, const KernelDecision& b) { return a.op < b.op; });
}

std::vector<ConstantUse> constant_uses(const Graph& graph) {
  std::vector<ConstantUse> uses;
  for (const Node& node : graph.nodes) {
    if (node.annotations.phase != Phase::kSetup || node.op->kind == OpKind::kView) continue;
    ConstantUse use{node.op->name, node.attributes.text(), 0};
    for (const ValueId output : node.outputs) use.bytes += graph.value(output).type.bytes();
    uses.push_back(use);
  }
  return uses;
}

MemoryNeed memory_need(const Prepared& prepared, std::optional<int64_t> saved) {
  const Plan& plan = prepared.plan;
  MemoryNeed need;
  need.predicted_peak_bytes = predicted_peak_bytes(plan, prepared.bound);
  need.resident_bytes = plan.resident_bytes;
  need.arena_bytes = plan.arena_bytes;
  need.live_peak_bytes = plan.live_peak_bytes;
  if (const auto peak = static_cast<size_t>(plan.peak_step); peak < plan.steps.size()) {
    need.peak_op = plan.steps[peak].kernel->op->name;
    need.peak_scope = plan.steps[peak].scope;
  }
  need.saved_bytes = saved;
  need.parts = prepared.memory.parts;
  need.available_bytes = prepared.bound.bytes;
  need.limit = prepared.bound.text;
  need.arithmetic = memory_arithmetic(plan, prepared.bound);
  need.does_not_fit = prepared.shortage;
  if (!prepared.shortage.empty()) need.advice = prepared.recompute.advice;
  return need;
}

std::string machine_text(const Prepared& prepared) {
  const Device& device = prepared.device;
  std::string text = device.name;
  if (!device.isa.empty()) text += fmt::format(", {} kernels", device.isa);
  if (device.threads) text += ", " + counted(*device.threads, "thread");
  return text + ", " + math_mode(prepared.plan, device);
}

// Collects information about the graph after each pass.
struct PassLog {
  std::vector<PassOutcome> outcomes;
  std::set<std::string_view> composites;  // composites in the model
  std::set<std::string_view> whole;       // composites that remain after decompose
  std::optional<int64_t> saved;           // bytes saved for backward

  PassObserver observer() {
    return [this](const std::string& pass, const Graph& after) {
      if (pass == "model") add_composites(after, composites);
      // Composites that were left whole for autocast are lowered by a second decompose.
      if (pass == "decompose")
        std::erase_if(whole, [](std::string_view name) { return find_op(name)->casts_by_input; });
      if (pass == "decompose" || pass == "split_rows") add_composites(after, whole);
      outcomes.push_back(outcome_of(pass, after));
      // The result is that of the last graph with a backward phase, because cut_forward removes this phase.
      if (outcomes.back().backward > 0) saved = saved_bytes(after);
    };
  }
};

// The prepared point; none if the device cannot run it.
std::optional<Prepared> prepare_if_supported(const ResolvedPoint& point, const KnowledgeOf& known,
                                             const PassObserver& observer = {}) {
  if (!point.device) return std::nullopt;
  return prepare(point.config, *point.device, known ? known(point.device_key) : MachineKnowledge{},
                 {.observer = observer});
}

constexpr std::string_view kReasonLowered = "its primitives are faster for inputs of these shapes";

std::vector<CompositeUse> composite_uses(const RunConfig& config, const RecomputeRule& rule, const PassLog& log) {
  std::vector<CompositeUse> uses;
  for (const CompositeChoice& choice : composite_choices(config, rule)) {
    const bool whole = log.whole.contains(choice.op);
    if (whole || log.composites.contains(choice.op))
      uses.push_back(
          {std::string(choice.op), whole, std::string(whole == choice.whole ? choice.reason : kReasonLowered)});
  }
  return uses;
}

}  // namespace

Explanation explain(const ResolvedPoint& point, const KnowledgeOf& known) {
  const RunConfig& config = point.config;
  Explanation explanation;
  explanation.name = point.name;
  explanation.refused = point.invalid;
  if (!explanation.refused.empty()) return explanation;
  explanation.config = to_json(config);
  const ModelConfig model = config.step_model();
  explanation.model = card_of(model).describe(model);
  const ModelSummary summary = summarize(model);
  explanation.parameters = summary.parameter_count;
  explanation.parameter_groups = parameter_groups(summary.parameters);
  explanation.model_flops_forward = summary.forward_flops;
  explanation.model_flops_attention = summary.attention_flops;
  explanation.model_flops_head = summary.head_flops;
  explanation.refused = point.refusal;

  PassLog log;
  const std::optional<Prepared> prepared = prepare_if_supported(point, known, log.observer());
  Graph unsupported;
  if (!prepared) unsupported = graph_without_device(config, log.observer());
  const Graph& graph = prepared ? prepared->graph : unsupported;
  explanation.passes = log.outcomes;
  if (log.outcomes.back().backward > 0) explanation.model_flops_backward = 2 * explanation.model_flops_forward;
  explanation.recompute = prepared ? prepared->recompute.text : config.recompute;
  explanation.composites = composite_uses(config, prepared ? prepared->recompute.rule : recompute_rule(config), log);
  count_work(graph, prepared ? &prepared->device : nullptr, explanation);
  explanation.rank = step_of_rank(config, graph);
  explanation.constants = constant_uses(graph);
  if (!prepared) return explanation;
  explanation.machine = machine_text(*prepared);
  decide_kernels(*prepared, explanation);
  explanation.memory = memory_need(*prepared, log.saved);
  return explanation;
}

std::string dump_graph(const ResolvedPoint& point, const KnowledgeOf& known) {
  if (!point.invalid.empty()) throw Error::format("{}: {}", point.name, point.invalid);
  std::string text;
  const PassObserver observer = [&](const std::string& pass, const Graph& graph) {
    text += fmt::format("=== {}: after {}, {} nodes\n{}", point.name, pass, graph.nodes.size(), print(graph));
  };
  if (!prepare_if_supported(point, known, observer)) graph_without_device(point.config, observer);
  return text;
}

std::string dump_plan(const ResolvedPoint& point, const KnowledgeOf& known) {
  if (!point.device) throw Error::format("{}: {}", point.name, point.refusal);
  return fmt::format("=== {}: plan\n{}", point.name, print(prepare_if_supported(point, known)->plan));
}

}  // namespace laptime
