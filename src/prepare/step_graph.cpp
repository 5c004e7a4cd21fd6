// Builds the model and runs the passes.
#include "prepare/step_graph.h"

#include <algorithm>

#include "base/error.h"
#include "base/ranges.h"
#include "base/words.h"
#include "model/model_card.h"
#include "ops/registry.h"
#include "passes/decompose.h"
#include "passes/row_groups.h"
#include "prepare/device.h"

namespace laptime {
namespace {

constexpr std::string_view kNone = "none";

// Splits "a+b" into composites; "none" is the empty set. Throws Error, naming `where`, for an unknown composite.
std::vector<std::string> set_members(const std::string& where, const std::string& set) {
  std::vector<std::string> names;
  if (set == kNone) return names;
  const std::vector<std::string_view> known = composites();
  for (size_t begin = 0; begin <= set.size();) {
    const size_t end = std::min(set.find('+', begin), set.size());
    names.push_back(set.substr(begin, end - begin));
    if (!is_among(names.back(), known)) reject_word(where, "composite", names.back(), known);
    begin = end + 1;
  }
  return names;
}

std::vector<std::string> kept(const RunConfig& config, const RecomputeRule& rule) {
  std::vector<std::string> names;
  for (const CompositeChoice& choice : composite_choices(config, rule)) {
    if (choice.whole) names.emplace_back(choice.op);
  }
  return names;
}

// True for a GPU step that laptime itself runs or would run, rather than another program.
bool is_own_gpu_step(const RunConfig& config) { return is_gpu(config) && !config.is_of_other_program; }

// In compile mode without --keep, also lowers the composites that are faster when lowered.
LowerKept lower_kept(const RunConfig& config) {
  if (config.mode != Mode::kCompile || config.keep) return LowerKept::kNone;
  return is_own_gpu_step(config) ? LowerKept::kFasterLoweredOnGpu : LowerKept::kFasterLowered;
}

// True if the optimizer also writes the autocast copies of parameters for the next step: a fused optimizer does so in
// compile mode on a GPU. With --optimizer-in-backward, saving memory matters more than saving the casts.
bool stores_copies(const RunConfig& config, const RecomputeRule& rule) {
  if (config.mode == Mode::kEager || config.optimizer_in_backward || !is_gpu(config)) return false;
  return std::ranges::any_of(composite_choices(config, rule), [](const CompositeChoice& choice) {
    return choice.whole && find_op(choice.op)->with_copy != nullptr;
  });
}

PipelineOptions pipeline_options(const RunConfig& config, const RecomputeRule& rule) {
  return {.keep = kept(config, rule),
          .lower = autocast_dtype(config.dtype),
          .forward_only = config.pass == Pass::kForward,
          .compile = config.mode == Mode::kCompile,
          .shared_casts = is_gpu(config) ? SharedCasts::kKeep : SharedCasts::kFold,
          .pad_rows = config.mode == Mode::kCompile && is_own_gpu_step(config),
          .store_copies = stores_copies(config, rule),
          .recompute = rule,
          .optimizer_in_backward = config.optimizer_in_backward,
          .lower_kept = lower_kept(config),
          .bucket_bytes = config.ranks > 1 ? std::max<int64_t>(1, parse_bytes("--bucket", config.bucket)) : 0};
}

}  // namespace

std::vector<std::string_view> composites() {
  std::vector<std::string_view> names;
  for (const OpCard* op : all_ops()) {
    if (op->decompose != nullptr) names.emplace_back(op->name);
  }
  return names;
}

std::optional<DelayedOp> delayed_op(const RunConfig& config) {
  if (!config.delay) return std::nullopt;
  const OpDelay delay = parse_delay("--delay", *config.delay);
  if (const OpCard* const op = find_op(delay.op); op != nullptr) return DelayedOp{op, delay.pause};
  std::vector<std::string_view> names;
  for (const OpCard* op : all_ops()) names.emplace_back(op->name);
  throw Error::format("--delay: unknown op {}{} (laptime list kernels)", quote(delay.op),
                      did_you_mean(delay.op, names));
}

std::vector<CompositeChoice> composite_choices(const RunConfig& config, const RecomputeRule& rule) {
  const bool eager = config.mode == Mode::kEager;
  const auto named = [&](const char* where, const std::optional<std::string>& set) {
    return set ? set_members(where, *set) : std::vector<std::string>();
  };
  const std::vector<std::string> keep = named("--keep", config.keep);
  const std::vector<std::string> kept_by_eager = card_of(config.model).kept_by_eager(config.model);
  const std::vector<std::string> lower = named("--lower", config.lower);
  const auto choose = [&](const OpCard& op) -> CompositeChoice {
    if (config.keep && (!eager || is_among(op.name, keep))) return {op.name, is_among(op.name, keep), "--keep"};
    if (eager) return {op.name, is_among(op.name, kept_by_eager), "eager mode: as in the edition's PyTorch code"};
    if (is_among(op.name, lower)) return {op.name, false, "--lower"};
    if (op.split_rows == nullptr) return {op.name, true, "compile mode"};
    if (config.pass == Pass::kInference || config.pass == Pass::kForward)
      return {op.name, false, "fusing this op saves memory only if backward follows"};
    if (is_gpu(config))
      return {op.name, rule.group > 0,
              "works on groups of rows, which are too small for a GPU; fused only in steps that recompute"};
    return {op.name, true, "compile mode: works on groups of rows, in forward and backward"};
  };
  std::vector<CompositeChoice> choices;
  for (const OpCard* op : all_ops()) {
    if (op->decompose != nullptr) choices.push_back(choose(*op));
  }
  return choices;
}

std::vector<std::string> composites_of(const RunConfig& config) {
  RunConfig whole = config;
  whole.mode = Mode::kCompile;
  whole.keep.reset();
  whole.lower.reset();
  std::vector<RecomputeRule> rules{recompute_rule(whole)};
  if (config.recompute == "auto") rules.push_back(recompute_rule(whole, 1, 0));  // fit_recompute may choose this rule
  const Graph model = build_train_step(config);
  std::vector<Graph> graphs;
  for (const RecomputeRule& rule : rules) {
    graphs.push_back(decompose(model, kept(whole, rule), lower_kept(whole)));
    graphs.push_back(split_rows(graphs.back()));
  }
  const Graph lowered = decompose(model, {});  // composites that remain cannot be decomposed in this step
  std::vector<std::string> names;
  for (const std::string_view name : composites()) {
    const auto has = [&](const Graph& graph) {
      return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                         [&](const Node& node) { return node.op->name == name; });
    };
    if (std::any_of(graphs.begin(), graphs.end(), has) && !has(lowered)) names.emplace_back(name);
  }
  return names;
}

RecomputeRule recompute_rule(const RunConfig& config, int64_t group, int64_t layers) {
  // On a GPU, even a cheap node needs its own launch, so it is recomputed only in steps that must save memory.
  // fit_recompute turns this on for a step that does not fit otherwise.
  return {.local = config.mode == Mode::kCompile && (!is_own_gpu_step(config) || group > 0),
          .group = group,
          .layers = layers,
          .parameter_copies = !is_gpu(config)};
}

RecomputeRule recompute_rule(const RunConfig& config) {
  return recompute_rule(config, recompute_group(config.recompute), config.model.num_layers);
}

PipelineOptions pipeline_options(const RunConfig& config) { return pipeline_options(config, recompute_rule(config)); }

Graph lowered_graph(const RunConfig& config, const RecomputeRule& rule, const StepOutputs& keep,
                    const PassObserver& observer) {
  return run_passes(build_train_step(config, keep), pipeline_options(config, rule), observer);
}

Graph lowered_graph(const RunConfig& config, const StepOutputs& keep, const PassObserver& observer) {
  return lowered_graph(config, recompute_rule(config), keep, observer);
}

}  // namespace laptime
