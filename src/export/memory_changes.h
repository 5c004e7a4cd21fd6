// When the buffers of a step are allocated and freed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "record/step_trace.h"

namespace laptime {

struct MemoryChange {
  size_t launch = 0;  // just before this launch; the number of launches: after the last one
  size_t buffer = 0;
  bool is_alloc = true;
};

// In the order of time; between two launches all frees come first, because a new buffer may take the place of an old
// one. Resident buffers and those that outlive the step are not freed. Buffers without bytes are left out.
std::vector<MemoryChange> memory_changes(const StepTrace& trace);

// The resident buffers that have bytes.
std::vector<size_t> resident_buffers(const StepTrace& trace);

// The roles that the buffers have, in the order in which they first appear.
std::vector<std::string_view> roles_of(const StepTrace& trace);

}  // namespace laptime
