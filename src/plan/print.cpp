// Prints a plan as text.
#include <fmt/format.h>

#include "base/units.h"
#include "base/words.h"
#include "plan/plan.h"

namespace laptime {
namespace {

std::string operand_text(const Operand& operand) {
  return operand.buffer < 0 ? "-" : fmt::format("b{} {}", operand.buffer, operand.type.text());
}

std::string step_text(const PlanStep& step) {
  std::vector<std::string> in;
  std::vector<std::string> out;
  for (const Operand& operand : step.in) in.push_back(operand_text(operand));
  for (const Operand& operand : step.out) out.push_back(operand_text(operand));
  std::string text =
      fmt::format("{} = {}:{}({})", joined(out, ", "), step.kernel->op->name, step.kernel->name, joined(in, ", "));
  if (const std::string attributes = step.attributes.text(); !attributes.empty())
    text += fmt::format(" {{{}}}", attributes);
  if (step.workspace >= 0) text += fmt::format(" workspace b{}", step.workspace);
  return text + fmt::format("  # {} {} {} {}", name_of(step.phase), step.scope, format_flops(step.flops),
                            format_bytes(step.bytes));
}

}  // namespace

std::string print(const Plan& plan) {
  std::string text =
      fmt::format("resident {}, arena {}, alive at the peak {} (step {})\n", format_bytes(plan.resident_bytes),
                  format_bytes(plan.arena_bytes), format_bytes(plan.live_peak_bytes), plan.peak_step);
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    text += fmt::format("b{} {} {} {} at {}", i, name_of(buffer.lifetime), name_of(buffer.role),
                        format_bytes(buffer.bytes), buffer.offset);
    if (!buffer.name.empty()) text += fmt::format(" '{}'", buffer.name);
    if (!buffer.op.empty())
      text += fmt::format(" of {} in {}", buffer.op, buffer.scope.empty() ? "the step" : buffer.scope);
    text += '\n';
  }
  for (const PlanStep& step : plan.setup) text += fmt::format("set-up {}\n", step_text(step));
  for (const Action& action : plan.actions) {
    switch (action.kind) {
      case Action::Kind::kAlloc: text += fmt::format("alloc b{}\n", action.index); break;
      case Action::Kind::kFree: text += fmt::format("free b{}\n", action.index); break;
      case Action::Kind::kStep:
        text += fmt::format("{}: {}\n", action.index, step_text(plan.steps[static_cast<size_t>(action.index)]));
        break;
    }
  }
  return text;
}

}  // namespace laptime
