// Replays the actions of a plan without running them.
#include "plan/live_bytes.h"

#include <algorithm>

#include "base/checked.h"

namespace laptime {
namespace {

// Returns which step buffers are alive while a step runs or, with `after`, after the step and the frees that follow it.
std::vector<bool> alive_at(const Plan& plan, int step, bool after) {
  std::vector<bool> is_output(plan.buffers.size(), false);  // outputs stay alive until the whole plan has run
  for (const PlanOutput& output : plan.outputs) is_output[static_cast<size_t>(output.operand.buffer)] = true;
  std::vector<bool> alive(plan.buffers.size(), false);
  bool reached = false;
  for (const Action& action : plan.actions) {
    const auto index = static_cast<size_t>(action.index);
    if (reached && (!after || action.kind != Action::Kind::kFree)) break;
    switch (action.kind) {
      case Action::Kind::kAlloc: alive[index] = true; break;
      case Action::Kind::kFree: alive[index] = is_output[index]; break;
      case Action::Kind::kStep: reached = action.index == step; break;
    }
  }
  return alive;
}

}  // namespace

std::optional<int64_t> bytes_after(const Plan& plan, Phase phase) {
  int last = -1;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (phase == Phase::kForward && plan.steps[i].phase == Phase::kBackward) break;
    if (plan.steps[i].phase == phase) last = static_cast<int>(i);
  }
  if (last < 0) return std::nullopt;
  const std::vector<bool> alive = alive_at(plan, last, true);
  Size bytes = plan.resident_bytes;
  for (size_t i = 0; i < alive.size(); ++i) {
    if (alive[i]) bytes += plan.buffers[i].bytes;
  }
  return bytes.value();
}

std::vector<int> alive_at_peak(const Plan& plan) {
  const std::vector<bool> alive = alive_at(plan, plan.peak_step, false);
  std::vector<int> buffers;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (alive[i] || plan.buffers[i].lifetime != Lifetime::kStep) buffers.push_back(static_cast<int>(i));
  }
  std::stable_sort(buffers.begin(), buffers.end(), [&](int a, int b) {
    return plan.buffers[static_cast<size_t>(a)].bytes > plan.buffers[static_cast<size_t>(b)].bytes;
  });
  return buffers;
}

}  // namespace laptime
