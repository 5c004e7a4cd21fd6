// Prepares a point in this order: kernel choices, memory bound, recomputation, graph, plan and memory forecast. Also
// describes the arithmetic of a plan's products.
#include "prepare/prepare.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error.h"
#include "predict/launch_times.h"
#include "prepare/step_graph.h"

namespace laptime {

void Prepared::require_fit() const {
  if (!shortage.empty()) throw OutOfMemory(predicted_peak_bytes(plan, bound), bound.bytes, shortage);
}

namespace {

// Adds the --delay pause to each launch of the op that --delay names.
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
    throw Error::format("--delay: this step has no launch of op '{}'; laptime explain lists the ops of the step",
                        delayed->op->name);
}

// Updates during backward free gradients earlier, but may leave larger gaps between other buffers. If the plan would
// need more memory for that reason, the updates stay after backward; the results are the same.
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

// Removes the launches that the device's program fuses. Their buffers stay.
void drop_fused(const Device& device, Plan& plan) {
  const auto drops = [&](const PlanStep& step) { return is_fused(device, step.work_class, step.region); };
  std::vector<int> moved;  // the new index of each step; a removed step gets that of the next kept one
  int kept = 0;
  for (const PlanStep& step : plan.steps) moved.push_back(drops(step) ? kept : kept++);
  std::erase_if(plan.actions, [&](const Action& action) {
    return action.kind == Action::Kind::kStep && drops(plan.steps[static_cast<size_t>(action.index)]);
  });
  for (Action& action : plan.actions) {
    if (action.kind == Action::Kind::kStep) action.index = moved[static_cast<size_t>(action.index)];
  }
  plan.peak_step = std::min(moved[static_cast<size_t>(plan.peak_step)], kept - 1);
  std::erase_if(plan.steps, drops);
}

// Computes everything that depends on the kernel choices.
void plan_with_choices(Prepared& prepared, const PrepareOptions& options) {
  const KernelTable& kernels = *prepared.device.kernels;
  const ChooseKernel choose = chooser(kernels, prepared.choices);
  prepared.recompute = fit_recompute(prepared.config, prepared.bound, choose);
  if (options.recomputes_cheap_ops) prepared.recompute.rule.local = true;
  prepared.graph = lowered_graph(prepared.config, prepared.recompute.rule, options.outputs, options.observer);
  if (!options.pins_may_miss) check_pinned(prepared.graph, kernels, prepared.choices);
  prepared.plan = make_plan(prepared.graph, choose);
  keep_smaller_of_updates(prepared, options, choose);
  drop_fused(prepared.device, prepared.plan);
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

bool is_fused(const Device& device, WorkClass work_class, const Region& region) {
  return device.launch_times && device.launch_times->program() == Program::kMegatron &&
         work_class == WorkClass::kElementwise && !region.range.empty();
}

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
  // The fastest kernels may need more workspace than is available; the point may still fit with other kernels.
  PrepareOptions unobserved = options;
  unobserved.observer = {};
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

namespace {

// The arithmetic of the steps that multiply matrices.
struct Products {
  std::array<int, 7> count{};  // indexed by ProductMath
  bool flushes_denormals = false;

  int of(ProductMath math) const { return count[static_cast<size_t>(math)]; }
};

Products products_of(const Plan& plan) {
  Products products;
  for (const PlanStep& step : plan.steps) {
    const ProductMath math = step.kernel->math_of_products(step.signature());
    if (math == ProductMath::kNone) continue;
    ++products.count[static_cast<size_t>(math)];
    products.flushes_denormals = products.flushes_denormals || step.kernel->flushes_denormals;
  }
  return products;
}

}  // namespace

std::string math_mode(const Plan& plan, const Device& device) {
  if (!device.computes) return device.requested_math + ", predicted";
  const Products products = products_of(plan);
  const int float32 = products.of(ProductMath::kFloat32);
  const int tf32 = products.of(ProductMath::kTf32);
  const int split = products.of(ProductMath::kSplit);
  const int bfloat16 = products.of(ProductMath::kBFloat16);
  const int float16 = products.of(ProductMath::kFloat16);
  const int reference = products.of(ProductMath::kFloat64);
  // A step without products, such as the optimizer alone, has the requested arithmetic.
  std::string text = float32 + tf32 + split + bfloat16 + float16 == 0 ? device.requested_math
                     : bfloat16 > 0                                   ? "bfloat16 autocast, float32 accumulation"
                     : float16 > 0 ? "float16 autocast, factors widened to float32, float32 accumulation"
                     : tf32 > 0    ? "tf32, float32 accumulation"
                                   : "float32";
  if (tf32 > 0 && float32 > 0) text += ", some products in float32";
  if (split > 0) {
    text += float32 > 0 ? ", some" : ",";
    text += bfloat16 > 0 ? " float32 products of three bfloat16 terms" : " products of three bfloat16 terms";
  }
  if (reference > 0) text += ", products of the reference in float64";
  if (products.flushes_denormals) text += ", denormals in products are zero";
  return text;
}

}  // namespace laptime
