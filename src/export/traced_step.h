// Traced steps in the form that trace formats need: nested time slices, and when buffers are allocated and freed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "export/formats.h"

namespace laptime {

// A warm-up step, a step, a phase, a module, a named range or a launch.
struct Slice {
  enum class Kind : uint8_t { kWarmup, kStep, kPhase, kModule, kRange, kLaunch };
  Kind kind = Kind::kStep;
  std::string_view name;  // the op if the slice is a launch
  int64_t begin = 0;      // nanoseconds on the timeline
  int64_t end = 0;
  size_t launch = 0;  // the first launch inside the slice
  size_t inside = 0;  // number of following slices that are nested in this one
};

// A traced step on the timeline.
struct StepSpan {
  const TracedStep* step = nullptr;
  int64_t begin = 0;
  int64_t first_launch = 0;  // start of the first launch
  int64_t end = 0;
};

// The slices begin with one for each warm-up step of the record. The slices of the chosen steps follow, without the
// untraced time between those steps. An outer slice comes before its inner ones; adjacent launches in the same phase,
// module or range share one slice for it. Names live as long as the trace.
struct StepSlices {
  std::vector<Slice> slices;
  std::vector<StepSpan> steps;
};

// The step with the median time; if there are two in the middle, the shorter one. The trace must have at least one
// step.
const TracedStep& median_step(const StepTrace& trace);

// `traced` must have a trace with at least one timed step.
StepSlices slices_of(const TracedRecord& traced, ExportedSteps steps);

struct MemoryChange {
  size_t launch = 0;  // index of the next launch after the change; at the end of the step, the number of launches
  size_t buffer = 0;
  bool is_alloc = true;
};

// Allocations and frees in time order. Between two launches, frees come first, because buffers may reuse freed space.
// Buffers that outlive the step are never freed. Resident and empty buffers are omitted.
std::vector<MemoryChange> memory_changes(const StepTrace& trace);

// The buffers that are in the step's arena after the step, such as gradients. The next step allocates them again.
std::vector<size_t> outliving_buffers(const StepTrace& trace);

// The resident buffers with a nonzero size.
std::vector<size_t> resident_buffers(const StepTrace& trace);

// The roles of the buffers, in order of first appearance.
std::vector<std::string_view> roles_of(const StepTrace& trace);

}  // namespace laptime
