// Prepares a point: kernel choices, memory bound, recomputation, graph, plan and memory forecast, in this order.
#include "prepare/prepare.h"

#include <utility>

#include "base/error.h"
#include "prepare/step_graph.h"

namespace laptime {

void Prepared::require_fit() const {
  if (!shortage.empty()) throw OutOfMemory(predicted_peak_bytes(plan, bound), bound.bytes, shortage);
}

namespace {

// Adds the pause of --delay to the launches of its op.
void add_delay(const RunConfig& config, Plan& plan) {
  const std::optional<DelayedOp> delayed = delayed_op(config);
  if (!delayed) return;
  bool is_launched = false;
  for (PlanStep& step : plan.steps) {
    if (step.kernel->op != delayed->op) continue;
    step.pause = delayed->pause;
    is_launched = true;
  }
  if (!is_launched)
    throw Error::format("--delay: no launch of this step is of op '{}'; laptime explain lists them", delayed->op->name);
}

// Updates in backward end lives of gradients earlier, but gaps between other buffers may cost more than that saves. The
// updates then stay behind backward, which changes no value.
void keep_smaller_of_updates(Prepared& prepared, const PrepareOptions& options, const ChooseKernel& choose) {
  if (!prepared.config.optimizer_in_backward) return;
  RunConfig behind = prepared.config;
  behind.optimizer_in_backward = false;
  Graph graph = lowered_graph(behind, prepared.recompute.rule, options.outputs);
  Plan plan = make_plan(graph, choose);
  if (predicted_peak_bytes(plan, prepared.bound) >= predicted_peak_bytes(prepared.plan, prepared.bound)) return;
  prepared.graph = std::move(graph);
  prepared.plan = std::move(plan);
}

// Everything that follows from the choices.
void plan_with_choices(Prepared& prepared, const PrepareOptions& options) {
  const KernelTable& kernels = *prepared.device.kernels;
  const ChooseKernel choose = chooser(kernels, prepared.choices);
  prepared.recompute = fit_recompute(prepared.config, prepared.bound, choose);
  prepared.graph = lowered_graph(prepared.config, prepared.recompute.rule, options.outputs, options.observer);
  if (!options.pins_may_miss) check_pinned(prepared.graph, kernels, prepared.choices);
  prepared.plan = make_plan(prepared.graph, choose);
  keep_smaller_of_updates(prepared, options, choose);
  add_delay(prepared.config, prepared.plan);
  prepared.memory = forecast_memory(prepared.plan, prepared.bound);
  prepared.memory.recompute = prepared.recompute.text;
  prepared.shortage = memory_shortage(prepared.plan, prepared.bound, prepared.recompute.advice);
}

bool may_fit_with_less_workspace(const Prepared& prepared) {
  const Plan& plan = prepared.plan;
  const int64_t workspace = plan.peak_bytes_by_role[static_cast<size_t>(Role::kWorkspace)];
  return prepared.bound.fits(plan.resident_bytes + plan.live_peak_bytes - workspace);
}

}  // namespace

Prepared prepare(const RunConfig& config, const Device& device, const MachineKnowledge& known,
                 const PrepareOptions& options) {
  Prepared prepared{.config = config,
                    .device = device,
                    .choices = choices_of(config, *device.kernels, known.kernel_choices),
                    .bound = memory_bound(config, device),
                    .recompute = {},
                    .graph = {},
                    .plan = {},
                    .memory = {},
                    .shortage = {}};
  plan_with_choices(prepared, options);
  if (prepared.shortage.empty() || !may_fit_with_less_workspace(prepared)) return prepared;
  // The fastest kernels may want more workspace than there is; with others the point may still fit.
  const PrepareOptions unobserved{.outputs = options.outputs, .pins_may_miss = options.pins_may_miss};
  for (const bool saves_memory : {false, true}) {
    if (!saves_memory && prepared.choices.measured.empty()) continue;
    Prepared lean = prepared;
    lean.choices.takes_measured = false;
    lean.choices.saves_memory = saves_memory;
    plan_with_choices(lean, unobserved);
    if (lean.shortage.empty()) return lean;
  }
  return prepared;
}

Graph graph_without_device(const RunConfig& config, const PassObserver& observer) {
  return lowered_graph(config, recompute_rule(config), {}, observer);
}

}  // namespace laptime
