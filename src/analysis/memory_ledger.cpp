// Sums buffers over the launches during which they are live, and groups them by the module and the op that write them.
#include "analysis/memory_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "base/checked.h"
#include "base/proc_text.h"
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

template <class Group>
void largest_first(std::vector<Group>& groups) {
  std::ranges::stable_sort(groups, std::greater{}, &Group::bytes);
}

// Adds a tensor to the group with the same scope, op, type and shape, or starts a new group.
void add_tensor(const SavedTensors& tensor, int64_t bytes, std::vector<SavedTensors>& groups) {
  const auto key = [](const SavedTensors& one) {
    return std::tie(one.scope, one.op, one.dtype, one.shape, one.are_copies);
  };
  auto group = std::ranges::find(groups, key(tensor), key);
  if (group == groups.end()) group = groups.insert(group, tensor);
  ++group->count;
  group->bytes += bytes;
}

// Matrix products fold the rows of a batch, [1, 1024, 768], while other ops use [4, 256, 768]. Maps the beginning of a
// folded shape to the unfolded one, "[1, 1024," to "[4, 256,", so that equal tensors are shown with equal shapes.
std::map<std::string, std::string> unfolded_rows(const StepTrace& trace) {
  std::map<std::string, std::string> unfolded;
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const TraceBuffer buffer = trace.buffer(i);
    const std::vector<std::string_view> parts = split(buffer.shape, ',');
    if (!buffer.saved || buffer.resident || parts.size() != 3 || !parts[0].starts_with('[')) continue;
    const int64_t batch = parse_int64(parts[0].substr(1)).value_or(0);
    const int64_t rows = parse_int64(trim(parts[1])).value_or(0);
    // Checked, because the shape of an imported trace is arbitrary text.
    if (batch > 1)
      unfolded.emplace(fmt::format("[1, {},", (Size(batch) * rows).value()), fmt::format("[{}, {},", batch, rows));
  }
  return unfolded;
}

bool is_copy(const TraceBuffer& buffer) { return category_of(buffer) == MemoryCategory::kAutocastCopies; }

// The index of the first launch of backward; the number of launches if there is none.
int64_t backward_begin(const StepTrace& trace) {
  size_t launch = 0;
  while (launch < trace.launch_count() && trace.launch(launch).phase != "backward") ++launch;
  return static_cast<int64_t>(launch);
}

void add_up(SavedBlock& block) {
  for (const SavedTensors& tensors : block.tensors) {
    block.bytes += tensors.bytes;
    if (tensors.are_copies) block.copies += tensors.bytes;
  }
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
  // A stored record may contain any number, but a peak cannot be below the bytes that tensors request.
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

SavedBytes saved_bytes_of(const StepTrace& trace) {
  SavedBytes saved;
  const int64_t backward = backward_begin(trace);
  const std::map<std::string, std::string> unfolded = unfolded_rows(trace);
  std::map<int64_t, std::vector<SavedTensors>> layers;
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const TraceBuffer buffer = trace.buffer(i);
    if (!buffer.saved || buffer.first >= backward) continue;
    saved.total += buffer.bytes;
    if (is_copy(buffer)) saved.copies += buffer.bytes;
    if (buffer.resident) {
      saved.shared += buffer.bytes;
      add_tensor({.scope = "inputs and constants", .op = std::string(buffer.op)}, buffer.bytes, saved.parts);
      continue;
    }
    const TraceLaunch maker = trace.launch(static_cast<size_t>(buffer.first));  // the first use writes the buffer
    const std::string_view part = maker.part.empty() && maker.layer >= 0 ? "block" : maker.part;
    add_tensor({.scope = std::string(part), .op = std::string(buffer.op)}, buffer.bytes, saved.parts);
    std::string shape(buffer.shape);
    const size_t rows_end = shape.rfind(',') + 1;
    if (const auto rows = unfolded.find(shape.substr(0, rows_end)); rows != unfolded.end())
      shape.replace(0, rows_end, rows->second);
    add_tensor({.scope = within_layer(buffer.scope, maker.layer),
                .op = std::string(buffer.op),
                .dtype = std::string(buffer.dtype),
                .shape = std::move(shape),
                .are_copies = is_copy(buffer)},
               buffer.bytes, maker.layer < 0 ? saved.rest.tensors : layers[maker.layer]);
  }
  largest_first(saved.rest.tensors);
  for (auto& [layer, tensors] : layers) {
    largest_first(tensors);
    auto block = std::ranges::find(saved.blocks, tensors, &SavedBlock::tensors);
    if (block == saved.blocks.end()) block = saved.blocks.insert(block, {.layers = {}, .tensors = tensors});
    block->layers.push_back(layer);
  }
  add_up(saved.rest);
  for (SavedBlock& block : saved.blocks) add_up(block);
  largest_first(saved.parts);
  return saved;
}

std::string layers_text(const std::vector<int64_t>& layers) {
  std::string text;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += end - i > 1 ? fmt::format("{}-{}", layers[i], layers[end - 1]) : std::to_string(layers[i]);
    i = end;
  }
  return (layers.size() == 1 ? "layer " : "layers ") + text;
}

std::vector<LargeTensors> largest_tensors(const StepTrace& trace, size_t peak_launch, size_t top) {
  using Kind = std::tuple<std::string, std::string_view, std::string, std::string_view, MemoryCategory,
                          std::string_view, int64_t>;
  const auto peak = static_cast<int64_t>(peak_launch);
  std::vector<LargeTensors> groups;
  std::map<Kind, size_t> index;
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const TraceBuffer buffer = trace.buffer(i);
    const std::string name = any_layer(buffer.name);
    const std::string scope = any_layer(buffer.scope);
    const auto [known, is_new] = index.emplace(
        Kind{name, buffer.op, scope, buffer.phase, category_of(buffer), buffer.shape, buffer.bytes}, groups.size());
    if (is_new) groups.push_back({.name = name, .scope = scope, .first = buffer, .buffers = {}});
    LargeTensors& group = groups[known->second];
    group.buffers.push_back(i);
    if (buffer.first <= peak && peak <= buffer.last) ++group.alive_at_peak;
  }
  std::ranges::stable_sort(groups, std::greater{},
                           [](const LargeTensors& group) { return std::pair(group.first.bytes, group.alive_at_peak); });
  if (groups.size() > top) groups.resize(top);
  return groups;
}

std::string title_of(const LargeTensors& tensors) {
  if (!tensors.name.empty()) return tensors.name;
  if (tensors.scope.empty()) return std::string(tensors.first.op);
  return fmt::format("{} in {}", tensors.first.op, tensors.scope);
}

}  // namespace laptime
