// Groups the buffers of a trace by the module and the op that write them, and by type, shape or size.
#include "analysis/memory_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "base/proc_text.h"

namespace laptime {
namespace {

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
    if (!buffer.saved || buffer.resident || parts.size() != 3) continue;
    const int64_t batch = parse_int64(parts[0].substr(1)).value_or(0);
    const int64_t rows = parse_int64(trim(parts[1])).value_or(0);
    if (batch > 1) unfolded.emplace(fmt::format("[1, {},", batch * rows), fmt::format("[{}, {},", batch, rows));
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
