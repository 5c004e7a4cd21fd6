// The largest allocations of a step, those of equal layers taken together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/step_trace.h"
#include "report/memory/ledger.h"

namespace laptime {

struct LargeTensors {
  std::string name;   // "layers.*.attn.weights"; empty: none
  std::string op;     // that makes them; empty for a source
  std::string scope;  // of that op
  std::string phase;
  std::string dtype;
  std::string shape;
  MemoryCategory category = MemoryCategory::kTemporaries;
  int64_t bytes = 0;            // of one
  std::vector<size_t> buffers;  // of the trace
  int64_t alive_at_peak = 0;    // how many
};

// At most `top` groups, the largest single tensors first, and of tensors of one size those with most alive at the peak.
std::vector<LargeTensors> largest_tensors(const StepTrace& trace, size_t peak_launch, size_t top);

// Of the buffers that do not live for the whole run, the groups with most bytes in all.
std::vector<LargeTensors> largest_in_all(const StepTrace& trace, size_t peak_launch, size_t top);

// What a group is called: its name, or the op and scope that make it.
std::string title_of(const LargeTensors& tensors);

}  // namespace laptime
