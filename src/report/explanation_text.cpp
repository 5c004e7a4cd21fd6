// Tables of an explanation.
#include "report/explanation_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "table/aligned.h"

namespace laptime {
namespace {

constexpr size_t kIndent = 2;

// 128625408 -> "128,625,408"
std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), 1, ',');
  return text;
}

std::string intensity(const Work& work) {
  return work.bytes > 0 ? fmt::format("{:.2f}", work.flops / static_cast<double>(work.bytes)) : "";
}

std::string parameters_text(const Explanation& explanation) {
  std::vector<Cells> rows{{"", "tensors", "shape", "parameters", "share"}};
  for (const ParameterGroup& group : explanation.parameter_groups) {
    const double share = 100 * static_cast<double>(group.parameters) / static_cast<double>(explanation.parameters);
    rows.push_back({group.name, std::to_string(group.tensors), fmt::format("[{}]", fmt::join(group.shape, ", ")),
                    grouped(group.parameters), fmt::format("{:.1f} %", share)});
  }
  constexpr int64_t kBytes = 4;  // parameters are float32 under every dtype
  return fmt::format("parameters: {}, {} in float32\n{}", grouped(explanation.parameters),
                     format_bytes(explanation.parameters * kBytes),
                     aligned(rows, {false, true, false, true, true}, kIndent));
}

std::string composites_text(const Explanation& explanation) {
  if (explanation.composites.empty()) return "composites: none\n";
  std::vector<Cells> rows;
  for (const CompositeUse& use : explanation.composites)
    rows.push_back({use.op, use.whole ? "whole" : "lowered", use.reason});
  return fmt::format("composites, with recompute {}\n{}", explanation.recompute,
                     aligned(rows, {false, false, false}, kIndent));
}

std::string passes_text(const Explanation& explanation) {
  std::vector<Cells> rows{{"", "nodes", "views", "set-up", "forward", "backward", "optimizer"}};
  for (const PassOutcome& pass : explanation.passes) {
    Cells cells{pass.pass};
    for (const int64_t count : {pass.nodes, pass.views, pass.setup, pass.forward, pass.backward, pass.optimizer}) {
      cells.push_back(std::to_string(count));
    }
    rows.push_back(cells);
  }
  return "passes, and the graph after each\n" + aligned(rows, {false, true, true, true, true, true, true}, kIndent);
}

std::string work_text(const Explanation& explanation) {
  std::string text =
      fmt::format("model FLOPs by formula: forward {}, backward {}\n", format_flops(explanation.model_flops_forward),
                  format_flops(explanation.model_flops_backward));
  std::vector<Cells> kinds{{"", "", "nodes", "FLOPs", "bytes", "FLOP/byte"}};
  for (const Work& phase : explanation.phases) {
    kinds.push_back({phase.phase, "", std::to_string(phase.nodes), format_flops(phase.flops), format_bytes(phase.bytes),
                     intensity(phase)});
    for (const Work& kind : explanation.kinds) {
      if (kind.phase != phase.phase) continue;
      kinds.push_back({"", kind.kind, std::to_string(kind.nodes), format_flops(kind.flops), format_bytes(kind.bytes),
                       intensity(kind)});
    }
  }
  text += "work of one step, views left out\n" + aligned(kinds, {false, false, true, true, true, true}, kIndent);
  std::vector<Cells> ops{{"", "op", "kind", "nodes", "FLOPs", "bytes", "FLOP/byte"}};
  std::string last;
  for (const Work& op : explanation.ops) {
    ops.push_back({op.phase == last ? "" : op.phase, op.op, op.kind, std::to_string(op.nodes), format_flops(op.flops),
                   format_bytes(op.bytes), intensity(op)});
    last = op.phase;
  }
  return text + "\nops\n" + aligned(ops, {false, false, false, true, true, true, true}, kIndent);
}

std::string reason_chosen(const KernelDecision& decision) {
  if (decision.chosen_by == "pinned") return "pinned by --kernels";
  if (decision.chosen_by == "measured") return "measured fastest here";
  if (decision.chosen_by == "first") return "first of its list; bench measures before it runs";
  return "";
}

std::string kernels_text(const Explanation& explanation) {
  std::vector<Cells> rows{{"op", "kernel", "nodes", "signatures", ""}};
  std::string details;
  for (const KernelDecision& decision : explanation.kernels) {
    rows.push_back({decision.op, decision.chosen.empty() ? "none" : decision.chosen, std::to_string(decision.nodes),
                    std::to_string(decision.signatures), reason_chosen(decision)});
    if (decision.rivals.empty() && decision.refused.empty()) continue;
    details += fmt::format("  {} by {}, such as {}\n", decision.op, rows.back()[1], decision.example);
    if (!decision.rivals.empty()) details += fmt::format("      would run too: {}\n", fmt::join(decision.rivals, ", "));
    for (const RefusedKernel& refused : decision.refused)
      details += fmt::format("      refused: {}: {}\n", refused.kernel, refused.reason);
  }
  return "kernels\n" + aligned(rows, {false, false, true, true, false}, kIndent) +
         (details.empty() ? "" : "\nother kernels\n" + details);
}

// How many times as fast as one thread more of them can be, of each kernel and of the step.
std::string threads_text(const Explanation& explanation) {
  Cells header{"op", "kernel", "units", "largest"};
  for (const ThreadBound& bound : explanation.threads) header.push_back(fmt::format("{} threads", bound.threads));
  std::vector<Cells> rows{header};
  const auto add_row = [&](Cells cells, const std::vector<ThreadBound>& bounds) {
    const ThreadBound& most = bounds.back();
    cells.push_back(most.units ? grouped(*most.units) : "");
    cells.push_back(most.largest_unit ? fmt::format("{:.2g} %", 100 * *most.largest_unit) : "");
    for (const ThreadBound& bound : bounds) cells.push_back(fmt::format("{:.1f}", bound.speed_up));
    rows.push_back(std::move(cells));
  };
  for (const KernelDecision& decision : explanation.kernels) {
    if (!decision.threads.empty()) add_row({decision.op, decision.chosen}, decision.threads);
  }
  add_row({"step", ""}, explanation.threads);
  std::vector<bool> right(header.size(), true);
  right[0] = right[1] = false;
  return fmt::format(
      "speed-up over one thread, at most\n{}  A unit is work that one thread does alone. Units are those of the "
      "launches with the most work, on {} threads;\n  the speed-up is that of all launches of the kernel. Units alone "
      "bound it here: bandwidth, caches and clock are not in it.\n",
      aligned(rows, right, kIndent), explanation.threads.back().threads);
}

std::string constants_text(const Explanation& explanation) {
  if (explanation.constants.empty()) return "constants: none\n";
  std::vector<Cells> rows;
  for (const ConstantUse& use : explanation.constants)
    rows.push_back({use.op, format_bytes(use.bytes), use.attributes});
  return "constants, made once in set-up\n" + aligned(rows, {false, true, false}, kIndent);
}

std::string memory_text(const MemoryNeed& need, const std::string& recompute) {
  std::vector<Cells> rows;
  rows.push_back({"resident: parameters, states, inputs, constants", format_bytes(need.resident_bytes)});
  rows.push_back({"arena: what the step makes, in its places", format_bytes(need.arena_bytes)});
  rows.push_back({"  alive at once, at most", format_bytes(need.live_peak_bytes)});
  if (need.saved_bytes) rows.push_back({"  saved by forward for backward", format_bytes(*need.saved_bytes)});
  std::string text =
      fmt::format("memory: {}\n{}", format_bytes(need.predicted_peak_bytes), aligned(rows, {false, true}, kIndent));
  text += fmt::format("  {}\n", need.arithmetic);
  if (!need.peak_op.empty()) {
    text +=
        fmt::format("  the peak is at {}{}{}\n", need.peak_op, need.peak_scope.empty() ? "" : " in ", need.peak_scope);
  }
  if (recompute != "none") text += fmt::format("  made again in backward: {}\n", recompute);
  text += fmt::format("  {} {}", need.does_not_fit.empty() ? "fits:" : "DOES NOT FIT:", need.limit);
  return text + (need.advice.empty() ? "\n" : fmt::format("; {}\n", need.advice));
}

}  // namespace

std::string print(const Explanation& explanation) {
  std::string text = explanation.name + "\n";
  if (!explanation.model.empty()) text += explanation.model + "\n";
  if (!explanation.machine.empty()) text += fmt::format("on {}\n", explanation.machine);
  if (!explanation.refused.empty()) text += fmt::format("DOES NOT RUN: {}\n", explanation.refused);
  if (explanation.model.empty()) return text;
  for (const auto& part : {parameters_text, composites_text, passes_text, work_text, constants_text})
    text += fmt::format("\n{}", part(explanation));
  if (!explanation.kernels.empty()) text += fmt::format("\n{}", kernels_text(explanation));
  if (!explanation.threads.empty()) text += fmt::format("\n{}", threads_text(explanation));
  if (explanation.memory) text += fmt::format("\n{}", memory_text(*explanation.memory, explanation.recompute));
  return text;
}

}  // namespace laptime
