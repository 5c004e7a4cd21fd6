// Turns ledgers of buffers into findings, and compares the buffers of two points.
#include "analysis/memory_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/available_memory.h"
#include "base/error.h"
#include "base/json.h"
#include "config/run_config.h"
#include "record/metrics.h"

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

// Requested bytes held at the end of a phase; none if the record lacks them.
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
  const bool alternate = ledger.sections().size() != ledger.phases().size();
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
    if (state > 0 && !alternate) values["first_step_bytes"] = held.total() - (phase.phase == kOptimizer ? 0 : state);
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
  const bool in_backward = ledger.sections().size() != ledger.phases().size();
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

// The role of a buffer in its step, regardless of its size. Several buffers may have the same identity; they correspond
// in order.
std::string identity_of(const TraceBuffer& buffer) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", buffer.name, buffer.op, buffer.scope, buffer.phase, buffer.role,
                     buffer.dtype);
}

// 0, 1 or 2: the power of `ratio` (above 1) that is closest to the growth in bytes. A buffer's size may have terms of
// two powers, as mask tables do.
size_t nearest_power(int64_t before, int64_t after, double ratio) {
  if (before <= 0 || after <= before) return 0;
  const double power = std::log(static_cast<double>(after) / static_cast<double>(before)) / std::log(ratio);
  return static_cast<size_t>(std::clamp(std::lround(power), 0L, 2L));
}

}  // namespace

bool was_held(const Record& record) { return record.memory.peak_rss_bytes.has_value(); }

std::optional<UsableMemory> usable_memory(const Record& record) {
  // A negative value and the maximum stand for a machine with unknown memory size.
  const int64_t bytes = record.bytes_available.value_or(-1);
  if (bytes < 0 || static_cast<double>(bytes) >= kUsableFraction * 0x1p63) return std::nullopt;
  UsableMemory usable{.bytes = bytes};
  const std::string limit = record.config.text("memory_limit");
  try {
    usable.is_limit = !limit.empty() && limit != "null" && parse_bytes("memory_limit", limit) == usable.bytes;
  } catch (const Error&) {
    usable.is_limit = false;  // a stored record may contain any text
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
  const MemoryLedger ledger(trace);
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

Finding memory_growth_finding(const std::string& name, const StepTrace& at_shorter, int64_t shorter,
                              const StepTrace& at_longer, int64_t longer) {
  const MemoryLedger at_end(at_longer);
  Finding finding{.kind = "memory_growth",
                  .subject = name,
                  .values = Json{{"from_context", shorter},
                                 {"from_bytes", MemoryLedger(at_shorter).planned()},
                                 {"to_context", longer},
                                 {"to_bytes", at_end.planned()}}};
  std::map<std::string, std::vector<int64_t>> before;  // bytes of the shorter point's buffers by identity
  for (size_t i = 0; i < at_shorter.buffer_count(); ++i)
    before[identity_of(at_shorter.buffer(i))].push_back(at_shorter.buffer(i).bytes);
  const auto peak = static_cast<int64_t>(at_end.peak_launch());
  const double ratio = static_cast<double>(longer) / static_cast<double>(shorter);
  std::array<int64_t, 3> bytes{};  // indexed by the power of the context with which they grow
  std::map<std::string, size_t> met;
  std::map<std::string, int64_t> square_by_op;
  for (size_t i = 0; i < at_longer.buffer_count(); ++i) {
    const TraceBuffer buffer = at_longer.buffer(i);
    const std::string identity = identity_of(buffer);
    const size_t place = met[identity]++;
    if (buffer.first > peak || buffer.last < peak) continue;
    const auto found = before.find(identity);
    if (found == before.end() || place >= found->second.size()) return finding;
    const size_t power = nearest_power(found->second[place], buffer.bytes, ratio);
    bytes.at(power) += buffer.bytes;
    if (power == 2) square_by_op[std::string(buffer.op)] += buffer.bytes;
  }
  const auto most = std::ranges::max_element(square_by_op, {}, [](const auto& one) { return one.second; });
  Json& values = finding.values.json();
  values["square_bytes"] = bytes[2];
  values["linear_bytes"] = bytes[1];
  values["constant_bytes"] = bytes[0];
  values["square_op"] = most == square_by_op.end() ? "" : most->first;
  return finding;
}

}  // namespace laptime
