// Derives findings about memory from the buffers of a trace.
#include "analysis/memory_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/available_memory.h"
#include "base/error.h"
#include "base/json.h"
#include "config/run_config.h"

namespace laptime {
namespace {

constexpr std::string_view kOptimizer = "optimizer";

Finding peak_finding(const Record& record, const StepTrace& trace, const MemoryLedger& ledger) {
  Json values{{"bytes", ledger.planned()}};
  if (trace.launch_count() > 0) {
    const TraceLaunch at = trace.launch(ledger.peak_launch());
    values["phase"] = at.phase;
    values["op"] = at.op;
    values["scope"] = at.scope;
  }
  values["requested_bytes"] = ledger.peak().total();
  if (was_held(record) && record.memory.peak_bytes) values["held_bytes"] = *record.memory.peak_bytes;
  add_usable(usable_memory(record), values);
  values["fits"] = record.status != Status::kOutOfMemory;
  return {.kind = "memory_peak", .values = std::move(values)};
}

void add_shares(const MemoryLedger& ledger, std::vector<Finding>& findings) {
  std::vector<std::pair<std::string, int64_t>> parts;
  for (size_t i = 0; i < kMemoryCategoryCount; ++i)
    parts.emplace_back(key_of(category_at(i)), ledger.peak().bytes.at(i));
  parts.emplace_back(kAlignmentAndGaps, ledger.rounding());
  std::ranges::stable_sort(parts, std::greater{}, &std::pair<std::string, int64_t>::second);
  const auto whole = static_cast<double>(ledger.planned());
  for (const auto& [key, bytes] : parts) {
    if (bytes <= 0) continue;
    add(findings, "memory_share", key,
        {{"bytes", bytes}, {"share", whole > 0 ? static_cast<double>(bytes) / whole : 0}});
  }
}

// Requested bytes held at the end of forward or backward; none for another phase, or if the record lacks them.
std::optional<int64_t> held_after(const Record& record, const StepTrace& trace, const MemoryLedger& ledger,
                                  const std::string& phase) {
  const std::optional<int64_t> after = phase == "forward"    ? record.memory.after_forward_bytes
                                       : phase == "backward" ? record.memory.after_backward_bytes
                                                             : std::nullopt;
  return after ? std::optional(*after - trace.resident_bytes + ledger.resident()) : std::nullopt;
}

void add_phases(const Record& record, const StepTrace& trace, const MemoryLedger& ledger,
                std::vector<Finding>& findings) {
  const int64_t state = ledger.peak()[MemoryCategory::kOptimizerState];
  for (const PhasePeak& phase : ledger.phases()) {
    const CategoryBytes& held = ledger.held(phase.peak);
    const TraceLaunch at = trace.launch(phase.peak);
    Json values{{"bytes", held.total()},
                {"op", at.op},
                {"scope", at.scope},
                {"gradients_bytes", held[MemoryCategory::kGradients]},
                {"optimizer_state_bytes", held[MemoryCategory::kOptimizerState]},
                {"saved_bytes", held[MemoryCategory::kSaved]}};
    if (const auto after = held_after(record, trace, ledger, phase.phase)) values["after_bytes"] = *after;
    if (state > 0 && !ledger.optimizer_runs_in_backward())
      values["first_step_bytes"] = held.total() - (phase.phase == kOptimizer ? 0 : state);
    add(findings, "phase_peak", phase.phase, std::move(values));
  }
}

void add_saved(const StepTrace& trace, std::vector<Finding>& findings) {
  const SavedBytes saved = saved_bytes_of(trace);
  if (saved.total == 0) return;
  Json values{{"bytes", saved.total}};
  const SavedBlock* const block = usual_block(saved);
  if (block != nullptr) {
    values["layer_bytes"] = block->bytes;
    values["layers"] = layers_text(block->layers);
    const int64_t model_layers = std::ranges::max(trace.launches.layer) + 1;
    const auto layer_count = static_cast<int64_t>(block->layers.size());
    if (layer_count < model_layers) {
      values["layer_count"] = layer_count;
      values["model_layers"] = model_layers;
    }
  }
  values["copies_bytes"] = saved.copies;
  if (block != nullptr) values["layer_copies_bytes"] = block->copies;
  bool has_copies = false;
  for (size_t i = 0; i < trace.buffer_count(); ++i)
    has_copies = has_copies || category_of(trace.buffer(i)) == MemoryCategory::kAutocastCopies;
  values["has_unsaved_copies"] = has_copies && saved.copies == 0;
  add(findings, "saved_for_backward", "", std::move(values));
}

void add_optimizer(const MemoryLedger& ledger, std::vector<Finding>& findings) {
  const int64_t state = ledger.peak()[MemoryCategory::kOptimizerState];
  if (state == 0) return;
  const bool in_backward = ledger.optimizer_runs_in_backward();
  int64_t temporaries = 0;
  for (const PhasePeak& phase : ledger.phases()) {
    const CategoryBytes& held = ledger.held(phase.peak);
    if (phase.phase == kOptimizer) temporaries = held[MemoryCategory::kTemporaries] + held[MemoryCategory::kWorkspace];
  }
  add(findings, "optimizer_memory", "",
      {{"state_bytes", state},
       {"temporaries_bytes", in_backward ? Json(nullptr) : Json(temporaries)},
       {"runs_in_backward", in_backward}});
}

void add_residual(const StepTrace& trace, std::vector<Finding>& findings) {
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const TraceBuffer buffer = trace.buffer(i);
    if (!buffer.name.substr(buffer.name.rfind('.') + 1).starts_with("residual")) continue;
    add(findings, "residual_tensor", "", {{"bytes", buffer.bytes}, {"dtype", buffer.dtype}, {"shape", buffer.shape}});
    return;
  }
}

}  // namespace

bool was_held(const Record& record) { return record.memory.peak_rss_bytes.has_value(); }

std::optional<UsableMemory> usable_memory(const Record& record) {
  // A negative value, or one near the maximum, means that the machine's memory size is unknown.
  const int64_t bytes = record.bytes_available.value_or(-1);
  if (bytes < 0 || static_cast<double>(bytes) >= kUsableFraction * 0x1p63) return std::nullopt;
  UsableMemory usable{.bytes = bytes};
  const std::string limit = record.config.text("memory_limit");
  try {
    usable.is_limit = !limit.empty() && limit != "null" && parse_bytes("memory_limit", limit) == usable.bytes;
  } catch (const Error&) {
    usable.is_limit = false;  // not a size: a stored record may contain any text
  }
  if (!usable.is_limit && is_predicted(record))
    usable.whole = std::llround(static_cast<double>(usable.bytes) / kUsableFraction);
  return usable;
}

void add_usable(const std::optional<UsableMemory>& usable, Json& values) {
  if (!usable) return;
  values["available_bytes"] = usable->bytes;
  values["is_limit"] = usable->is_limit;
  if (usable->whole) values["whole_bytes"] = *usable->whole;
}

const SavedBlock* usual_block(const SavedBytes& saved) {
  const auto most = std::ranges::max_element(saved.blocks, {}, [](const auto& block) { return block.layers.size(); });
  return most == saved.blocks.end() ? nullptr : &*most;
}

std::vector<Finding> memory_findings(const Record& record, const StepTrace& trace) {
  const MemoryLedger ledger(record, trace);
  std::vector<Finding> findings{peak_finding(record, trace, ledger)};
  add_shares(ledger, findings);
  add_phases(record, trace, ledger, findings);
  add_saved(trace, findings);
  add_optimizer(ledger, findings);
  add_residual(trace, findings);
  for (Finding& finding : findings) {
    if (!was_held(record)) finding.trust = FindingTrust::kPredicted;
  }
  return findings;
}

}  // namespace laptime
