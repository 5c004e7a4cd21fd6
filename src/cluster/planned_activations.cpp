// Replays the actions of a plan and adds up its live activations.
#include "cluster/planned_activations.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace laptime {
namespace {

// The counted bytes of a buffer, and the layer to which they belong.
struct Made {
  double bytes = 0;    // 0 if the buffer is not counted
  int64_t layer = -1;  // the last layer that writes the buffer in forward, or else the first that writes it
  bool is_alive = false;
};

std::vector<Made> counted(const Plan& plan, int64_t d_model, const ParallelLayout& layout) {
  const auto counts = [&](Role role) {
    return role == Role::kActivation || role == Role::kWorkspace || role == Role::kGradient ||
           (role == Role::kAutocastCopy && layout.shard != Shard::kParameters);
  };
  std::vector<Made> all(plan.buffers.size());
  std::vector<bool> is_known(plan.buffers.size(), false);
  const auto add = [&](int index, const Region& region) {
    if (index < 0 || is_known[static_cast<size_t>(index)]) return;
    is_known[static_cast<size_t>(index)] = true;
    const Buffer& buffer = plan.buffers[static_cast<size_t>(index)];
    if (buffer.lifetime != Lifetime::kStep || !counts(buffer.role)) return;
    const Shape& shape = buffer.type.shape();
    const bool is_divided =
        buffer.role == Role::kActivation && shape.rank() > 0 && divides_rows(region, shape.back(), d_model);
    const auto bytes = static_cast<double>(buffer.bytes);
    all[static_cast<size_t>(index)] = {is_divided ? bytes / static_cast<double>(layout.tensor) : bytes, region.layer};
  };
  for (const PlanStep& step : plan.steps) {
    for (const Operand& operand : step.out) add(operand.buffer, step.region);
    add(step.workspace, step.region);
  }
  return all;
}

}  // namespace

bool divides_rows(const Region& region, int64_t columns, int64_t d_model) {
  return columns == d_model && region.part != "attn" && region.part != "ffn" && region.part != "lm_head";
}

PlannedActivations planned_activations(const Plan& plan, int64_t layers, int64_t d_model,
                                       const ParallelLayout& layout) {
  std::vector<Made> all = counted(plan, d_model, layout);
  PlannedActivations planned;
  double alive = 0, settled = 0, gradients = 0;  // bytes alive now, after the previous step, and before the optimizer
  double in_layer = 0, outside = 0, late = 0;    // peaks: in the last layer, outside it, and once its backward is done
  bool is_backward = false, is_late = false, is_optimizer = false;
  for (const Action& action : plan.actions) {
    const auto index = static_cast<size_t>(action.index);
    if (action.kind != Action::Kind::kStep) {
      all[index].is_alive = action.kind == Action::Kind::kAlloc;
      alive += all[index].is_alive ? all[index].bytes : -all[index].bytes;
      if (action.kind == Action::Kind::kFree) settled = alive;  // allocations belong to the next step
      continue;
    }
    const PlanStep& step = plan.steps[index];
    if (step.phase == Phase::kForward) {
      // A buffer belongs to the last layer that writes it, because layers may update their input in place.
      for (const Operand& operand : step.out) {
        if (operand.buffer >= 0) all[static_cast<size_t>(operand.buffer)].layer = step.region.layer;
      }
    }
    const bool is_in_last = step.region.layer == layers - 1;
    const bool is_backward_of_layer = step.phase == Phase::kBackward && step.region.layer >= 0;
    if (is_backward_of_layer && !std::exchange(is_backward, true)) {
      for (const Made& made : all) {
        if (made.is_alive && made.layer >= 0 && made.layer < layers - 1)
          planned.layer += made.bytes / static_cast<double>(layers - 1);
      }
    }
    is_late = is_late || (is_backward_of_layer && !is_in_last);
    if (step.phase == Phase::kOptimizer && !std::exchange(is_optimizer, true)) gradients = settled;
    settled = alive;
    double& peak = is_late ? late : is_in_last ? in_layer : outside;
    peak = std::max(peak, alive);
  }
  const double kept = planned.layer * static_cast<double>(layers);
  planned.working = std::max(0.0, in_layer - kept);
  planned.loss = std::max(0.0, outside - kept);
  planned.late = std::max(0.0, late - gradients);
  planned.stores_copies = std::ranges::any_of(plan.buffers, [](const Buffer& buffer) {
    return buffer.role == Role::kAutocastCopy && buffer.lifetime != Lifetime::kStep;
  });
  return planned;
}

}  // namespace laptime
