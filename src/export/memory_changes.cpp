// Sorts the first and last uses of the buffers of a trace.
#include "export/memory_changes.h"

#include <algorithm>
#include <tuple>

namespace laptime {

std::vector<MemoryChange> memory_changes(const StepTrace& trace) {
  std::vector<MemoryChange> changes;
  const auto launches = static_cast<int64_t>(trace.launch_count());
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const TraceBuffer buffer = trace.buffer(i);
    if (buffer.resident || buffer.bytes == 0 || buffer.last < buffer.first) continue;
    changes.push_back({.launch = static_cast<size_t>(buffer.first), .buffer = i, .is_alloc = true});
    if (buffer.last < launches)
      changes.push_back({.launch = static_cast<size_t>(buffer.last) + 1, .buffer = i, .is_alloc = false});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const MemoryChange& a, const MemoryChange& b) {
    return std::tie(a.launch, a.is_alloc) < std::tie(b.launch, b.is_alloc);
  });
  return changes;
}

std::vector<size_t> resident_buffers(const StepTrace& trace) {
  std::vector<size_t> resident;
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    if (trace.buffers.resident[i] != 0 && trace.buffers.bytes[i] > 0) resident.push_back(i);
  }
  return resident;
}

std::vector<std::string_view> roles_of(const StepTrace& trace) {
  std::vector<std::string_view> roles;
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const std::string_view role = trace.buffer(i).role;
    if (std::find(roles.begin(), roles.end(), role) == roles.end()) roles.push_back(role);
  }
  return roles;
}

}  // namespace laptime
