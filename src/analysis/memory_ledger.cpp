// Sums buffers over the launches during which they are live.
#include "analysis/memory_ledger.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "base/words.h"

namespace laptime {
namespace {

// The role that identifies each category (empty if the role alone does not decide), and the category's key.
constexpr std::array<std::pair<std::string_view, std::string_view>, kMemoryCategoryCount> kCategories{
    {{"parameter", "parameters"},
     {"optimizer_state", "optimizer_state"},
     {"input", "inputs_and_constants"},
     {"gradient", "gradients"},
     {"autocast_copy", "autocast_copies"},
     {"", "saved_activations"},
     {"", "temporaries"},
     {"workspace", "workspace"}}};

// For each launch and category, the change in bytes held.
std::vector<CategoryBytes> changes_of(const StepTrace& trace) {
  std::vector<CategoryBytes> changes(trace.launch_count() + 1);
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const TraceBuffer buffer = trace.buffer(i);
    const MemoryCategory category = category_of(buffer);
    changes[static_cast<size_t>(buffer.first)][category] += buffer.bytes;
    if (const auto end = static_cast<size_t>(buffer.last) + 1; end < changes.size())
      changes[end][category] -= buffer.bytes;
  }
  return changes;
}

}  // namespace

std::string_view key_of(MemoryCategory category) { return kCategories.at(static_cast<size_t>(category)).second; }

std::string title_of(MemoryCategory category) { return spaced(key_of(category)); }

MemoryCategory category_at(size_t index) { return static_cast<MemoryCategory>(index); }

MemoryCategory category_of(const TraceBuffer& buffer) {
  if (buffer.role == "constant") return MemoryCategory::kInputs;
  for (size_t i = 0; i < kMemoryCategoryCount; ++i) {
    const std::string_view role = kCategories.at(i).first;
    if (!role.empty() && role == buffer.role) return category_at(i);
  }
  if (buffer.resident) return MemoryCategory::kInputs;
  return buffer.saved ? MemoryCategory::kSaved : MemoryCategory::kTemporaries;
}

int64_t CategoryBytes::total() const { return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}); }

MemoryLedger::MemoryLedger(const Record& record, const StepTrace& trace) {
  const std::vector<CategoryBytes> changes = changes_of(trace);
  CategoryBytes now;
  for (size_t launch = 0; launch < trace.launch_count(); ++launch) {
    for (size_t i = 0; i < kMemoryCategoryCount; ++i) now.bytes[i] += changes[launch].bytes[i];
    held_.push_back(now);
    if (now.total() > held_[peak_launch_].total()) peak_launch_ = launch;

    const std::string_view phase = trace.launch(launch).phase;
    auto found = std::ranges::find_if(phases_, [&](const PhasePeak& one) { return one.phase == phase; });
    if (found == phases_.end()) found = phases_.insert(phases_.end(), {std::string(phase), launch, launch, launch});
    found->last = launch;
    if (now.total() > held_[found->peak].total()) found->peak = launch;
  }
  if (held_.empty()) held_.emplace_back();  // a step without launches holds nothing
  for (size_t i = 0; i < trace.buffer_count(); ++i)
    resident_ += trace.buffers.resident[i] != 0 ? trace.buffers.bytes[i] : 0;
  // A stored record may contain any number, but no peak is below what tensors request.
  planned_ =
      std::max(peak().total(), record.memory.predicted_peak_bytes.value_or(trace.resident_bytes + trace.arena_bytes));
}

std::vector<size_t> MemoryLedger::most_held(size_t columns) const {
  std::vector<size_t> samples;
  for (size_t column = 0; column < columns; ++column) {
    const size_t begin = column * launches() / columns;
    const size_t end = std::max(begin + 1, (column + 1) * launches() / columns);
    const auto stretch = std::span(held_).subspan(begin, end - begin);
    const auto most = std::ranges::max_element(stretch, {}, &CategoryBytes::total);
    samples.push_back(begin + static_cast<size_t>(most - stretch.begin()));
  }
  return samples;
}

bool MemoryLedger::optimizer_runs_in_backward() const {
  const auto backward = std::ranges::find(phases_, "backward", &PhasePeak::phase);
  const auto optimizer = std::ranges::find(phases_, "optimizer", &PhasePeak::phase);
  return backward != phases_.end() && optimizer != phases_.end() && optimizer->first < backward->last;
}

std::vector<Section> MemoryLedger::sections() const {
  std::vector<Section> sections;
  for (const PhasePeak& phase : phases_) {
    if (sections.empty() || sections.back().last < phase.first) {
      sections.push_back({phase.phase, phase.first, phase.last});
    } else {
      sections.back().title += " and " + phase.phase;
      sections.back().last = std::max(sections.back().last, phase.last);
    }
  }
  return sections;
}

}  // namespace laptime
