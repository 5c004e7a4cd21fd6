// What a point would run, collected from graph and plan.
#include "explain/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "config/parameters.h"
#include "passes/saved.h"
#include "prepare/device.h"
#include "prepare/fit_recompute.h"
#include "prepare/kernel_choice.h"
#include "prepare/memory_check.h"
#include "prepare/step_graph.h"
#include "record/config_json.h"

namespace laptime {
namespace {

// "layers.11.ln1.weight" -> "layers.*.ln1.weight"
std::string without_layer(const std::string& name) {
  const std::string prefix = "layers.";
  if (name.rfind(prefix, 0) != 0) return name;
  return prefix + "*" + name.substr(name.find('.', prefix.size()));
}

std::vector<ParameterGroup> parameter_groups(const ModelConfig& model) {
  std::vector<ParameterGroup> groups;
  for (const ParameterSpec& parameter : parameter_list(model)) {
    const std::string name = without_layer(parameter.name);
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

std::string model_text(const RunConfig& config) {
  const ModelConfig model = config.step_model();
  if (model.is_attention()) {
    return fmt::format("attention alone, {}, d {}, batch {} x {} positions{}", model.causal ? "causal" : "full",
                       model.d_model, model.batch_size, model.context_length,
                       model.projections ? ", with projections" : "");
  }
  std::string text = fmt::format("edition {}, {} layers x {}, {} heads, d_ff {}, vocabulary {}, batch {} x {} tokens",
                                 name_of(model.edition), model.num_layers, model.d_model, model.num_heads, model.d_ff,
                                 model.vocab_size, model.batch_size, model.context_length);
  if (model.weight_tie) text += ", tied head";
  if (model.bias) text += ", biases";
  return text;
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

// Adds a node's work to the row for (phase, kind, op), made where it is met first.
void add_work(std::vector<Work>& rows, const Work& key, double flops, int64_t bytes) {
  auto row = std::find_if(rows.begin(), rows.end(), [&](const Work& known) {
    return known.phase == key.phase && known.kind == key.kind && known.op == key.op;
  });
  if (row == rows.end()) row = rows.insert(rows.end(), key);
  ++row->nodes;
  row->flops += flops;
  row->bytes = (Size(row->bytes) + bytes).value();
}

void count_work(const Graph& graph, Explanation& explanation) {
  for (const Node& node : graph.nodes) {
    if (node.op->kind == OpKind::kView || node.annotations.phase == Phase::kSetup) continue;
    const Signature signature = signature_of(graph, node);
    const double flops = flops_of(signature);
    const int64_t bytes = bytes_of(signature);
    const std::string phase = name_of(node.annotations.phase);
    const std::string kind = name_of(node.op->kind);
    add_work(explanation.phases, {phase, {}, {}}, flops, bytes);
    add_work(explanation.kinds, {phase, kind, {}}, flops, bytes);
    add_work(explanation.ops, {phase, kind, node.op->name}, flops, bytes);
  }
  const auto more = [](const Work& a, const Work& b) {
    return a.phase == b.phase && (a.flops != b.flops ? a.flops > b.flops : a.bytes > b.bytes);
  };
  const auto sort_within_phases = [&](std::vector<Work>& rows) {
    for (auto begin = rows.begin(); begin != rows.end();) {
      const std::string phase = begin->phase;
      const auto end = std::stable_partition(begin, rows.end(), [&](const Work& row) { return row.phase == phase; });
      std::stable_sort(begin, end, more);
      begin = end;
    }
  };
  sort_within_phases(explanation.kinds);
  sort_within_phases(explanation.ops);
}

// Kernels of one signature; nodes, signatures and example are the caller's.
KernelDecision kernels_for(const Backend& backend, const Signature& signature, const KernelChoices& choices,
                           const ChooseKernel& choose) {
  KernelDecision use;
  use.op = signature.op->name;
  int64_t contenders = 0;  // that a trial would time
  const Kernel* chosen = choose(signature);
  for (const Kernel& kernel : backend.kernels(*signature.op)) {
    if (const std::string reason = kernel.refusal(signature); !reason.empty()) {
      use.refused.push_back({kernel.name, reason});
      continue;
    }
    contenders += kernel.name == kReferenceName ? 0 : 1;
    if (&kernel == chosen) continue;
    use.candidates.push_back(kernel.name);
    if (kernel.name != kReferenceName) use.rivals.push_back(kernel.name);
  }
  if (chosen == nullptr) return use;
  use.chosen = chosen->name;
  const std::string text = signature.text();
  use.chosen_by = choices.pinned.contains(text)     ? "pinned"
                  : contenders <= 1                 ? "alone"
                  : choices.measured.contains(text) ? "measured"
                                                    : "first";
  return use;
}

bool alike(const KernelDecision& a, const KernelDecision& b) {
  const auto same_refusal = [](const RefusedKernel& x, const RefusedKernel& y) {
    return x.kernel == y.kernel && x.reason == y.reason;
  };
  return a.op == b.op && a.chosen == b.chosen && a.chosen_by == b.chosen_by && a.candidates == b.candidates &&
         std::equal(a.refused.begin(), a.refused.end(), b.refused.begin(), b.refused.end(), same_refusal);
}

std::vector<KernelDecision> kernel_uses(const Graph& graph, const Backend& backend, const KernelChoices& choices) {
  const ChooseKernel choose = chooser(backend, choices);
  std::map<std::string, int64_t> nodes;
  std::vector<std::pair<std::string, Signature>> signatures;  // each once, in the order of the graph
  for (const Node& node : graph.nodes) {
    if (node.op->kind == OpKind::kView) continue;
    Signature signature = signature_of(graph, node);
    std::string text = signature.text();
    if (nodes[text]++ == 0) signatures.emplace_back(std::move(text), std::move(signature));
  }
  std::vector<KernelDecision> uses;
  for (const auto& [text, signature] : signatures) {
    const KernelDecision use = kernels_for(backend, signature, choices, choose);
    auto known = std::find_if(uses.begin(), uses.end(), [&](const KernelDecision& other) { return alike(use, other); });
    if (known == uses.end()) {
      known = uses.insert(uses.end(), use);
      known->example = text;
    }
    known->nodes += nodes[text];
    ++known->signatures;
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const KernelDecision& a, const KernelDecision& b) { return a.op < b.op; });
  return uses;
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

MemoryNeed memory_need(const Plan& plan, const MemoryBound& bound, const FittedRecompute& fitted) {
  MemoryNeed need;
  need.resident_bytes = plan.resident_bytes;
  need.arena_bytes = plan.arena_bytes;
  need.live_peak_bytes = plan.live_peak_bytes;
  if (const auto peak = static_cast<size_t>(plan.peak_step); peak < plan.steps.size()) {
    need.peak_op = plan.steps[peak].kernel->op->name;
    need.peak_scope = plan.steps[peak].scope;
  }
  need.available_bytes = bound.available.bytes;
  need.bound_by = bound.available.bound_by;
  need.arithmetic = memory_arithmetic(plan);
  Record record;
  try {
    check_memory(plan, bound, fitted.advice, record);
  } catch (const OutOfMemory& error) {
    need.does_not_fit = error.what();
    need.advice = fitted.advice;
  }
  need.predicted_peak_bytes = plan.predicted_peak_bytes();
  need.parts = record.memory.parts;
  return need;
}

std::string machine_text(const Device& device) {
  std::string text = device.name;
  if (!device.isa.empty()) text += fmt::format(", {} kernels", device.isa);
  if (device.threads > 0) text += fmt::format(", {} thread{}", device.threads, device.threads == 1 ? "" : "s");
  return text + ", " + device.math_mode;
}

// What a point that can run is planned with.
struct Planning {
  Device device;
  KernelChoices choices;
  MemoryBound bound;
  FittedRecompute fitted;

  Planning(const RunConfig& config, const std::vector<KernelChoice>& known)
      : device(make_device(config)),
        choices(choices_of(config, *device.backend, known)),
        bound(memory_bound(config, device)),
        fitted(fit_recompute(config, bound, choose())) {}
  ChooseKernel choose() const { return chooser(*device.backend, choices); }
};

// Nothing where the point cannot run.
std::optional<Planning> planning_of(const RunConfig& config, const std::vector<KernelChoice>& known) {
  std::optional<Planning> planning;
  if (unsupported_reason(config).empty()) planning.emplace(config, known);
  return planning;
}

RecomputeRule rule_of(const RunConfig& config, const std::optional<Planning>& planning) {
  return planning ? planning->fitted.rule : recompute_rule(config);
}

void refuse_unless_runnable(const SweepPoint& point) {
  const std::string reason = point.invalid.empty() ? unsupported_reason(point.config) : point.invalid;
  if (!reason.empty()) throw Error::format("{}: {}", point.name, reason);
}

}  // namespace

Explanation explain(const SweepPoint& point, const std::vector<KernelChoice>& known) {
  const RunConfig& config = point.config;
  Explanation explanation;
  explanation.name = point.name;
  explanation.refused = point.invalid;
  if (!explanation.refused.empty()) return explanation;
  explanation.config = config_json(config);
  explanation.model = model_text(config);
  const ModelConfig model = config.step_model();
  explanation.parameters = parameter_count(model);
  explanation.parameter_groups = parameter_groups(model);
  explanation.model_flops_forward = static_cast<double>(forward_flops(model));
  explanation.model_flops_backward = 2 * explanation.model_flops_forward;

  explanation.refused = unsupported_reason(config);
  const std::optional<Planning> planning = planning_of(config, known);
  const RecomputeRule rule = rule_of(config, planning);
  explanation.recompute = planning ? planning->fitted.text : config.recompute;
  std::optional<int64_t> saved;
  std::set<std::string_view> composites;
  std::set<std::string_view> whole;
  const Graph graph = lowered_graph(config, rule, {}, [&](const std::string& pass, const Graph& after) {
    if (pass == "model") add_composites(after, composites);
    if (pass == "decompose") add_composites(after, whole);
    explanation.passes.push_back(outcome_of(pass, after));
    const bool differentiated = explanation.passes.back().backward > 0 && pass == "dead_code";  // the last one counts
    if (differentiated) saved = saved_bytes(after);
  });
  composites.insert(whole.begin(), whole.end());
  for (const CompositeChoice& choice : composite_choices(config, rule)) {
    if (!composites.contains(choice.op)) continue;
    explanation.composites.push_back({std::string(choice.op), whole.contains(choice.op), std::string(choice.reason)});
  }
  count_work(graph, explanation);
  explanation.constants = constant_uses(graph);

  if (!planning) return explanation;
  explanation.machine = machine_text(planning->device);
  explanation.kernels = kernel_uses(graph, *planning->device.backend, planning->choices);
  for (const KernelDecision& use : explanation.kernels) {
    if (use.chosen.empty()) explanation.refused = fmt::format("no kernel for {}", use.example);
  }
  if (!explanation.refused.empty()) return explanation;
  explanation.memory = memory_need(make_plan(graph, planning->choose()), planning->bound, planning->fitted);
  explanation.memory->saved_bytes = saved;
  return explanation;
}

std::string dump_graph(const SweepPoint& point, const std::vector<KernelChoice>& known) {
  if (!point.invalid.empty()) throw Error::format("{}: {}", point.name, point.invalid);
  const RecomputeRule rule = rule_of(point.config, planning_of(point.config, known));
  std::string text;
  lowered_graph(point.config, rule, {}, [&](const std::string& pass, const Graph& graph) {
    text += fmt::format("=== {}: after {}, {} nodes\n{}", point.name, pass, graph.nodes.size(), print(graph));
  });
  return text;
}

std::string dump_plan(const SweepPoint& point, const std::vector<KernelChoice>& known) {
  refuse_unless_runnable(point);
  const Planning planning(point.config, known);
  return fmt::format("=== {}: plan\n{}", point.name,
                     print(make_plan(lowered_graph(point.config, planning.fitted.rule), planning.choose())));
}

}  // namespace laptime
