// Groups the buffers of a trace by what makes them.
#include "report/memory/largest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "record/scope_path.h"

namespace laptime {

namespace {

// Every group, in the order of its first buffer.
std::vector<LargeTensors> groups_of(const StepTrace& trace, size_t peak_launch, bool with_resident) {
  using Kind = std::tuple<std::string, std::string, std::string, std::string_view, std::string_view, int64_t>;
  std::vector<LargeTensors> groups;
  std::map<Kind, size_t> index;
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const TraceBuffer buffer = trace.buffer(i);
    if (buffer.resident && !with_resident) continue;
    const std::string name = any_layer(buffer.name);
    const std::string scope = any_layer(buffer.scope);
    const auto [known, is_new] = index.emplace(
        Kind{name, std::string(buffer.op), scope, buffer.phase, buffer.shape, buffer.bytes}, groups.size());
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
  return groups;
}

template <class Bytes>
void keep_largest(std::vector<LargeTensors>& groups, size_t top, const Bytes& bytes) {
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const LargeTensors& a, const LargeTensors& b) { return bytes(a) > bytes(b); });
  if (groups.size() > top) groups.resize(top);
}

}  // namespace

std::vector<LargeTensors> largest_tensors(const StepTrace& trace, size_t peak_launch, size_t top) {
  std::vector<LargeTensors> groups = groups_of(trace, peak_launch, true);
  keep_largest(groups, top, [](const LargeTensors& group) { return std::pair(group.bytes, group.alive_at_peak); });
  return groups;
}

std::vector<LargeTensors> largest_in_all(const StepTrace& trace, size_t peak_launch, size_t top) {
  std::vector<LargeTensors> groups = groups_of(trace, peak_launch, false);
  keep_largest(groups, top,
               [](const LargeTensors& group) { return group.bytes * static_cast<int64_t>(group.buffers.size()); });
  return groups;
}

std::string title_of(const LargeTensors& tensors) {
  if (!tensors.name.empty()) return tensors.name;
  if (tensors.scope.empty()) return tensors.op;
  return fmt::format("{} in {}", tensors.op, tensors.scope);
}

}  // namespace laptime
