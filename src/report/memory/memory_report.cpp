// The sentences of a memory report, and which tables a view has.
#include "report/memory/memory_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/memory_ledger.h"
#include "analysis/memory_tensors.h"
#include "base/units.h"
#include "record/scope_path.h"
#include "report/memory/memory_grids.h"
#include "table/value_text.h"

namespace laptime {
namespace {

// "saved activations 52 %, parameters 26 %, gradients 20 %, the rest 2 %": the three that hold most. Adds up to 100 %.
std::string shares_text(const MemoryLedger& ledger) {
  constexpr size_t kNamed = 3;
  std::array<size_t, kMemoryCategoryCount> order{};
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return ledger.peak().bytes.at(a) > ledger.peak().bytes.at(b); });
  std::vector<int64_t> bytes(ledger.peak().bytes.begin(), ledger.peak().bytes.end());
  bytes.push_back(ledger.planned() - ledger.peak().total());  // gaps
  const std::vector<int64_t> percents = whole_percents(bytes);
  std::vector<std::string> shares;
  int64_t left = 100;
  for (size_t i = 0; i < kNamed && percents[order.at(i)] > 0; ++i) {
    left -= percents[order.at(i)];
    shares.push_back(fmt::format("{} {} %", title_of(category_at(order.at(i))), percents[order.at(i)]));
  }
  if (left > 0 && !shares.empty()) shares.push_back(fmt::format("the rest {} %", left));
  return fmt::format("{}", fmt::join(shares, ", "));
}

// Why bytes are predicted.
std::string not_held_text(const Record& record) {
  switch (record.status) {
    case Status::kOutOfMemory: return fmt::format("Does not fit here: {}", record.reason);
    case Status::kOk: return "Predicted from the plan: the step did not run.";
    default: return fmt::format("Predicted from the plan; the step is {}: {}", name_of(record.status), record.reason);
  }
}

// "1 MiB in forward, 2 MiB in backward and 3 MiB in optimizer"
std::string listed(std::vector<std::string> parts) {
  if (parts.size() < 2) return fmt::format("{}", fmt::join(parts, ""));
  const std::string last = std::move(parts.back());
  parts.pop_back();
  return fmt::format("{} and {}", fmt::join(parts, ", "), last);
}

// What the optimizer adds, and how the first step of a framework differs, which allocates optimizer state when the
// optimizer first runs.
std::optional<std::string> optimizer_text(const MemoryLedger& ledger) {
  constexpr std::string_view kOptimizer = "optimizer";
  const int64_t state = ledger.peak()[MemoryCategory::kOptimizerState];
  if (state == 0) return std::nullopt;
  const std::string adds = fmt::format("The optimizer adds {} of state", format_bytes(state));
  if (ledger.sections().size() != ledger.phases().size()) {  // the optimizer runs during backward
    return adds + ". Here the state is there before the first step, so that first and later steps peak equally.";
  }
  std::string added = "no temporaries";
  std::vector<std::string> first;
  std::vector<std::string> later;
  for (const PhasePeak& phase : ledger.phases()) {
    const CategoryBytes& held = ledger.held(phase.peak);
    const bool has_state = phase.phase == kOptimizer;
    const int64_t temporaries = held[MemoryCategory::kTemporaries] + held[MemoryCategory::kWorkspace];
    if (has_state && temporaries > 0) added = fmt::format("{} of temporaries while it runs", format_bytes(temporaries));
    first.push_back(fmt::format("{} in {}", format_bytes(held.total() - (has_state ? 0 : state)), phase.phase));
    later.push_back(fmt::format("{} in {}", format_bytes(held.total()), phase.phase));
  }
  return fmt::format(
      "{} and {}. Here the state is there before the first step, so that every step peaks at {}. PyTorch allocates it "
      "when the optimizer first runs: its first step peaks at {}, later ones as here (derived).",
      adds, added, listed(std::move(later)), listed(std::move(first)));
}

std::optional<std::string> residual_text(const StepTrace& trace) {
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const TraceBuffer buffer = trace.buffer(i);
    const std::string_view last = buffer.name.substr(buffer.name.rfind('.') + 1);
    if (!last.starts_with("residual")) continue;
    return fmt::format("One tensor of the residual stream: {} {}, {}.", buffer.dtype, buffer.shape,
                       format_bytes(buffer.bytes));
  }
  return std::nullopt;
}

std::string which_layers(const SavedBlock& block) {
  return (block.layers.size() == 1 ? "" : "each of ") + layers_text(block.layers);
}

std::optional<std::string> saved_text(const SavedBytes& saved) {
  if (saved.total == 0) return std::nullopt;
  const std::string text = fmt::format("Forward saves {} for backward", format_bytes(saved.total));
  const SavedBlock* const block = usual_block(saved);
  if (block == nullptr) return text + ".";
  return fmt::format("{}, of which {} {}.", text, which_layers(*block), format_bytes(block->bytes));
}

// Whether what is saved has the copies of parameters that autocast makes, which a framework's count may leave out.
std::optional<std::string> copies_text(const StepTrace& trace, const SavedBytes& saved) {
  if (saved.copies == 0) {
    for (size_t i = 0; i < trace.buffer_count(); ++i) {
      if (category_of(trace.buffer(i)) == MemoryCategory::kAutocastCopies)
        return "Autocast's copies of parameters are not among it: backward reads none of them.";
    }
    return std::nullopt;
  }
  std::string text = fmt::format("Autocast's copies of parameters are among it: {}", format_bytes(saved.copies));
  const SavedBlock* const block = usual_block(saved);
  if (block != nullptr) text += fmt::format(", of which {} {}", which_layers(*block), format_bytes(block->copies));
  text += fmt::format(". Without them forward saves {}", format_bytes(saved.total - saved.copies));
  if (block != nullptr)
    text += fmt::format(", {} {}", which_layers(*block), format_bytes(block->bytes - block->copies));
  return text + ".";
}

void add_sentences(const Record& record, const StepTrace& trace, const MemoryLedger& ledger, const SavedBytes& saved,
                   std::vector<std::string>& lines) {
  lines.push_back(peak_sentence(record, trace));
  if (!was_held(record)) lines.push_back(not_held_text(record));
  for (const std::optional<std::string>& line :
       {saved_text(saved), copies_text(trace, saved), optimizer_text(ledger), residual_text(trace)}) {
    if (line) lines.push_back(*line);
  }
}

}  // namespace

std::string peak_sentence(const Record& record, const StepTrace& trace) {
  const MemoryLedger ledger(trace);
  const std::string planned = format_bytes(ledger.planned());
  const std::optional<int64_t> held =
      record.memory.peak_bytes ? record.memory.peak_bytes : record.memory.predicted_peak_bytes;
  const bool is_rounded_up = held && *held > ledger.planned() && format_bytes(*held) != planned;
  const std::string phase = trace.launch_count() == 0 ? "" : std::string(trace.launch(ledger.peak_launch()).phase);
  return fmt::format("{} {}{}, reached in {} by {}: {}.", was_held(record) ? "Peak" : "Predicted peak", planned,
                     is_rounded_up ? fmt::format(" ({} in whole pages)", format_bytes(*held)) : "", phase,
                     launch_text(trace, ledger.peak_launch()), shares_text(ledger));
}

PointReport memory_report(const Record& record, const StepTrace& trace, const MemoryQuery& query) {
  const MemoryLedger ledger(trace);
  const SavedBytes saved = saved_bytes_of(trace);
  PointReport report{record.name, {}, {}};
  add_sentences(record, trace, ledger, saved, report.lines);
  const auto shows = [&](MemoryView view) { return query.view == view || query.view == MemoryView::kAll; };
  const auto add = [&](std::vector<Grid> grids) {
    for (Grid& grid : grids) report.grids.push_back(std::move(grid));
  };
  if (shows(MemoryView::kTimeline)) add({timeline_grid(trace, ledger)});
  if (shows(MemoryView::kCategories)) {
    add({categories_grid(record, ledger), phases_grid(record, trace, ledger), accounts_grid(record, trace, ledger)});
  }
  if (shows(MemoryView::kSaved)) add(saved_grids(saved));
  if (shows(MemoryView::kLargest)) add({largest_grid(trace, ledger, query.top)});
  return report;
}

}  // namespace laptime
