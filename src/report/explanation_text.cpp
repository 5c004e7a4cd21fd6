// Formats the parts of an explanation, and its headline.
#include "report/explanation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/proc_text.h"
#include "base/units.h"
#include "base/words.h"
#include "report/words.h"
#include "table/text.h"
#include "table/value_text.h"

namespace laptime {
namespace {

constexpr size_t kIndent = 2;

std::string parameters_text(const Explanation& explanation, size_t width) {
  std::vector<Cells> rows{{"", "tensors", "shape", "parameters", "share"}};
  for (const ParameterGroup& group : explanation.parameter_groups) {
    const double share = 100 * static_cast<double>(group.parameters) / static_cast<double>(explanation.parameters);
    rows.push_back({group.name, std::to_string(group.tensors), fmt::format("[{}]", joined(group.shape, ", ")),
                    grouped(group.parameters), fmt::format("{:.1f} %", share)});
  }
  constexpr int64_t kBytes = 4;  // parameters are float32 for every dtype
  return fmt::format("parameters: {}, {} in float32\n{}", grouped(explanation.parameters),
                     format_bytes(explanation.parameters * kBytes),
                     aligned(rows, {false, true, false, true, true}, kIndent, width));
}

std::string composites_text(const Explanation& explanation, size_t width) {
  if (explanation.composites.empty()) return "composites: none\n";
  std::vector<Cells> rows;
  for (const CompositeUse& use : explanation.composites)
    rows.push_back({use.op, use.whole ? "whole" : "lowered", use.reason});
  return fmt::format("composites, with recompute {}\n{}", explanation.recompute, aligned(rows, {}, kIndent, width));
}

std::string reason_chosen(const std::string& by) {
  if (by == "pinned") return "pinned by --kernels";
  if (by == "measured") return "measured fastest here";
  return by == "first"
             ? "first supported, not timed yet; laptime bench times the supported kernels and uses the fastest"
             : "";
}

// One line for each reason, with the kernels that are rejected for that reason.
std::string rejected_text(const std::vector<RefusedKernel>& all) {
  std::string text;
  for (const RefusedKernel& first : all) {
    std::vector<std::string> names;
    for (const RefusedKernel& refused : all) {
      if (refused.reason == first.reason) names.push_back(refused.kernel);
    }
    if (names.front() == first.kernel)
      text += fmt::format("      rejected: {}: {}\n", joined(names, ", "), first.reason);
  }
  return text;
}

std::string kernels_text(const Explanation& explanation, size_t width) {
  std::vector<Cells> rows{{"op", "kernel", "nodes", "signatures", ""}};
  std::string details;
  for (const KernelDecision& decision : explanation.kernels) {
    rows.push_back({decision.op, decision.chosen, std::to_string(decision.nodes), std::to_string(decision.signatures),
                    reason_chosen(decision.chosen_by)});
    if (decision.rivals.empty() && decision.refused.empty()) continue;
    details += fmt::format("  {} by {}, such as {}\n", decision.op, rows.back()[1], decision.example);
    if (!decision.rivals.empty()) details += fmt::format("      also supported: {}\n", joined(decision.rivals, ", "));
    details += rejected_text(decision.refused);
  }
  return "kernels\n" + aligned(rows, {false, false, true, true, false}, kIndent, width) +
         (details.empty() ? "" : "other kernels\n" + details);
}

// The known upper bounds on the speed-up from more threads, for each kernel and for the step; empty if none is known.
std::string threads_text(const Explanation& explanation, size_t width) {
  Cells header{"op", "kernel", "units", "largest"};
  std::vector<Cells> rows;
  int64_t most_threads = 0;
  const auto add_row = [&](Cells cells, const std::vector<ThreadBound>& bounds) {
    if (bounds.empty()) return;
    const ThreadBound& most = bounds.back();
    most_threads = most.threads;
    if (rows.empty()) {
      for (const ThreadBound& bound : bounds) header.push_back(fmt::format("{} threads", bound.threads));
      rows.push_back(header);
    }
    cells.push_back(most.units ? grouped(*most.units) : "");
    cells.push_back(most.largest_unit ? whole_percent_text(*most.largest_unit) : "");
    for (const ThreadBound& bound : bounds) cells.push_back(fmt::format("{:.1f}", bound.speed_up));
    rows.push_back(std::move(cells));
  };
  for (const KernelDecision& decision : explanation.kernels) add_row({decision.op, decision.chosen}, decision.threads);
  add_row({"step", ""}, explanation.threads);
  if (rows.empty()) return "";
  std::vector<bool> right(header.size(), true);
  right[0] = right[1] = false;
  return fmt::format(
      "upper bound on the speed-up over one thread, given how the work divides into units; ignores limits of bandwidth "
      "and clock; the number of units and the share of the largest are for {1} threads\n{0}{2}",
      aligned(rows, right, kIndent, width), most_threads,
      explanation.threads.empty() ? "no bound for the step: the tensors of a kernel do not fit into the address space\n"
                                  : "");
}

std::string memory_text(const MemoryNeed& need, const std::string& recompute, size_t width) {
  std::vector<Cells> rows{{"resident: parameters, states, inputs, constants", format_bytes(need.resident_bytes)},
                          {"arena: tensors of the step, with gaps", format_bytes(need.arena_bytes)},
                          {"  peak of live tensors", format_bytes(need.live_peak_bytes)}};
  if (need.saved_bytes) rows.push_back({"  saved by forward for backward", format_bytes(*need.saved_bytes)});
  std::string text = fmt::format("memory: {}\n{}  {}\n", format_bytes(need.predicted_peak_bytes),
                                 aligned(rows, {false, true}, kIndent, width), need.arithmetic);
  if (!need.peak_op.empty())
    text +=
        fmt::format("  the peak is at {}{}{}\n", need.peak_op, need.peak_scope.empty() ? "" : " in ", need.peak_scope);
  if (recompute != "none") text += fmt::format("  recomputed in backward: {}\n", recompute);
  text += fmt::format("  {} {}", need.does_not_fit.empty() ? "fits:" : "DOES NOT FIT:", need.limit);
  return text + (need.advice.empty() ? "\n" : fmt::format("; {}\n", need.advice));
}

// Parameters and FLOPs, the part of a rank, the peak and whether the point fits, and the number of nodes and kernels;
// one line each.
std::vector<std::string> headline(const Explanation& explanation) {
  std::vector<std::string> lines{fmt::format("{} parameters; {} forward (attention {}, head {})",
                                             grouped(explanation.parameters),
                                             value_text(explanation.model_flops_forward, Unit::kFlops),
                                             value_text(explanation.model_flops_attention, Unit::kFlops),
                                             value_text(explanation.model_flops_head, Unit::kFlops))};
  if (const std::optional<double> backward = explanation.model_flops_backward)
    lines.back() += fmt::format(", {} backward", value_text(*backward, Unit::kFlops));
  if (explanation.rank) {
    const StepOfRank& rank = *explanation.rank;
    lines.push_back(fmt::format(
        "  {} ranks{}: each computes {} x {} tokens and sends {} per step; tables and memory are of one rank",
        rank.ranks, rank.shard == "none" ? "" : ", shard " + rank.shard, rank.batch_size, rank.context_length,
        brief_bytes(rank.sent_bytes)));
  }
  if (explanation.memory) {
    const MemoryNeed& need = *explanation.memory;
    lines.push_back(fmt::format("  {} at the peak{}: {} {}", brief_bytes(need.predicted_peak_bytes),
                                need.peak_op.empty() ? "" : ", by " + place_words(need.peak_op, need.peak_scope),
                                need.does_not_fit.empty() ? "fits," : "DOES NOT FIT,", need.limit));
  }
  int64_t launches = 0;
  for (const KernelDecision& decision : explanation.kernels) launches += decision.nodes;
  if (launches > 0) {
    lines.push_back(fmt::format("  {} nodes run by {} kernels; recompute {}", grouped(launches),
                                explanation.kernels.size(), explanation.recompute));
  }
  return lines;
}

std::string largest_ops_text(const Explanation& explanation, size_t width) {
  constexpr size_t kMost = 8;
  std::vector<Work> ops = explanation.ops;
  std::ranges::stable_sort(ops, std::greater{}, &Work::flops);
  ops.resize(std::min(ops.size(), kMost));
  std::vector<Cells> rows{{"op", "phase", "nodes", "FLOPs", "bytes", "kernel"}};
  for (const Work& op : ops) {
    const auto decision = std::ranges::find(explanation.kernels, op.op, &KernelDecision::op);
    rows.push_back({op.op, op.phase, std::to_string(op.nodes), value_text(op.flops, Unit::kFlops),
                    brief_bytes(op.bytes), decision == explanation.kernels.end() ? "" : decision->chosen});
  }
  return aligned(rows, {false, false, true, true, true, false}, kIndent, width);
}

}  // namespace

std::string print(const Explanation& explanation, ExplainView view, const TextStyle& style) {
  std::string text;
  const auto say = [&](std::string_view line) { text += wrapped(std::string(line), style); };
  if (!explanation.refused.empty()) say(fmt::format("DOES NOT RUN: {}", explanation.refused));
  if (explanation.model.empty()) {
    say(explanation.name);
    return text;
  }
  for (const std::string& line : headline(explanation)) say(line);
  say(explanation.model);
  if (!explanation.machine.empty()) say(fmt::format("on {}", explanation.machine));
  const auto add = [&](ExplainView part, const std::string& made) {
    if (view != part && view != ExplainView::kAll) return;
    text += "\n";
    for (const std::string_view line : split(made, '\n')) say(line);
  };
  const size_t width = style.width;
  if (view == ExplainView::kSummary) add(view, largest_ops_text(explanation, width));
  add(ExplainView::kParameters, parameters_text(explanation, width));
  add(ExplainView::kComposites, composites_text(explanation, width));
  if (!explanation.kernels.empty()) add(ExplainView::kKernels, kernels_text(explanation, width));
  if (const std::string threads = threads_text(explanation, width); !threads.empty())
    add(ExplainView::kThreads, threads);
  else if (view == ExplainView::kThreads)
    say("no bounds on the speed-up: they are known for kernels of a CPU only");
  if (explanation.memory) add(ExplainView::kMemory, memory_text(*explanation.memory, explanation.recompute, width));
  if (view == ExplainView::kSummary) say("more: --view parameters, composites, kernels, threads, memory, all");
  return text;
}

}  // namespace laptime
