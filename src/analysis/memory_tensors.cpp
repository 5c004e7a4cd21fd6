// Groups the buffers of a trace by the op that writes them and by the module that they are saved for.
#include "analysis/memory_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace laptime {
namespace {

// Appends to the group for which `same` is true, or starts a new one.
template <class Group, class Same>
Group& group_in(std::vector<Group>& groups, Group fresh, const Same& same) {
  const auto found = std::ranges::find_if(groups, same);
  return found == groups.end() ? groups.emplace_back(std::move(fresh)) : *found;
}

template <class Group>
void largest_first(std::vector<Group>& groups) {
  std::ranges::stable_sort(groups, std::greater{}, &Group::bytes);
}

void add_part(const TraceBuffer& buffer, std::string_view part, std::vector<SavedPart>& parts) {
  SavedPart& sum = group_in(parts, SavedPart{std::string(part), std::string(buffer.op)},
                            [&](const SavedPart& one) { return one.part == part && one.op == buffer.op; });
  ++sum.count;
  sum.bytes += buffer.bytes;
}

std::vector<int64_t> dimensions_of(std::string_view shape) {
  std::vector<int64_t> dimensions;
  std::string digits;
  for (const char c : shape) {
    if (c >= '0' && c <= '9') {
      digits += c;
    } else if (!digits.empty()) {
      dimensions.push_back(std::stoll(digits));
      digits.clear();
    }
  }
  return dimensions;
}

// Shows equal tensors with equal shapes. Matrix products fold the rows of a batch, [1, 1024, 768], while other ops use
// [4, 256, 768].
class RowShapes {
 public:
  explicit RowShapes(const StepTrace& trace) {
    for (size_t i = 0; i < trace.buffer_count(); ++i) {
      const TraceBuffer buffer = trace.buffer(i);
      if (!buffer.saved || buffer.resident) continue;
      const std::vector<int64_t> dimensions = dimensions_of(buffer.shape);
      if (dimensions.size() == 3 && dimensions[0] > 1)
        batches_.emplace(dimensions[0] * dimensions[1], std::pair(dimensions[0], dimensions[1]));
    }
  }

  std::string unfolded(std::string_view shape) const {
    const std::vector<int64_t> dimensions = dimensions_of(shape);
    if (dimensions.size() != 3 || dimensions[0] != 1) return std::string(shape);
    const auto rows = batches_.find(dimensions[1]);
    if (rows == batches_.end()) return std::string(shape);
    return fmt::format("[{}, {}, {}]", rows->second.first, rows->second.second, dimensions[2]);
  }

 private:
  std::map<int64_t, std::pair<int64_t, int64_t>> batches_;  // sequences and positions, keyed by their product
};

bool is_copy(const TraceBuffer& buffer) { return category_of(buffer) == MemoryCategory::kAutocastCopies; }

void add_tensor(const TraceBuffer& buffer, const std::string& shape, int64_t layer,
                std::vector<SavedTensors>& tensors) {
  SavedTensors fresh{within_layer(buffer.scope, layer), std::string(buffer.op), std::string(buffer.dtype), shape};
  fresh.are_copies = is_copy(buffer);
  SavedTensors& sum = group_in(tensors, fresh, [&](const SavedTensors& one) {
    return one.scope == fresh.scope && one.op == fresh.op && one.dtype == fresh.dtype && one.shape == shape &&
           one.are_copies == fresh.are_copies;
  });
  ++sum.count;
  sum.bytes += buffer.bytes;
}

void add_up(SavedBlock& block) {
  for (const SavedTensors& tensors : block.tensors) {
    block.bytes += tensors.bytes;
    if (tensors.are_copies) block.copies += tensors.bytes;
  }
}

}  // namespace

SavedBytes saved_bytes_of(const StepTrace& trace) {
  SavedBytes saved;
  const RowShapes shapes(trace);
  std::map<int64_t, std::vector<SavedTensors>> layers;
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const TraceBuffer buffer = trace.buffer(i);
    if (!buffer.saved) continue;
    saved.total += buffer.bytes;
    if (is_copy(buffer)) saved.copies += buffer.bytes;
    if (buffer.resident) {
      saved.shared += buffer.bytes;
      add_part(buffer, "inputs and constants", saved.parts);
      continue;
    }
    const TraceLaunch maker = trace.launch(static_cast<size_t>(buffer.first));  // the first use writes the buffer
    add_part(buffer, maker.part.empty() && maker.layer >= 0 ? "block" : maker.part, saved.parts);
    add_tensor(buffer, shapes.unfolded(buffer.shape), maker.layer,
               maker.layer < 0 ? saved.rest.tensors : layers[maker.layer]);
  }
  largest_first(saved.rest.tensors);
  for (auto& layer : layers) {
    auto& tensors = layer.second;
    largest_first(tensors);
    SavedBlock& block = group_in(saved.blocks, SavedBlock{.layers = {}, .tensors = tensors},
                                 [&](const SavedBlock& one) { return one.tensors == tensors; });
    block.layers.push_back(layer.first);
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
  using Kind = std::tuple<std::string, std::string_view, std::string, std::string_view, std::string_view, int64_t>;
  std::vector<LargeTensors> groups;
  std::map<Kind, size_t> index;
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const TraceBuffer buffer = trace.buffer(i);
    const std::string name = any_layer(buffer.name);
    const std::string scope = any_layer(buffer.scope);
    const auto [known, is_new] =
        index.emplace(Kind{name, buffer.op, scope, buffer.phase, buffer.shape, buffer.bytes}, groups.size());
    if (is_new) {
      groups.push_back({.name = name,
                        .op = std::string(buffer.op),
                        .scope = scope,
                        .phase = std::string(buffer.phase),
                        .dtype = std::string(buffer.dtype),
                        .shape = std::string(buffer.shape),
                        .category = category_of(buffer),
                        .bytes = buffer.bytes,
                        .buffers = {}});
    }
    LargeTensors& group = groups[known->second];
    group.buffers.push_back(i);
    const auto peak = static_cast<int64_t>(peak_launch);
    if (buffer.first <= peak && peak <= buffer.last) ++group.alive_at_peak;
  }
  std::ranges::stable_sort(groups, std::greater{},
                           [](const LargeTensors& group) { return std::pair(group.bytes, group.alive_at_peak); });
  if (groups.size() > top) groups.resize(top);
  return groups;
}

std::string title_of(const LargeTensors& tensors) {
  if (!tensors.name.empty()) return tensors.name;
  if (tensors.scope.empty()) return tensors.op;
  return fmt::format("{} in {}", tensors.op, tensors.scope);
}

}  // namespace laptime
