// Traced steps as the formats of traces need them: nested slices of time, and when buffers are allocated and freed.
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
  std::string_view name;  // of a launch: its op
  int64_t begin = 0;      // nanoseconds on the timeline
  int64_t end = 0;
  size_t launch = 0;  // the first launch inside
  size_t inside = 0;  // how many of the slices that follow are nested in this one
};

// A traced step on the timeline.
struct StepSpan {
  const TracedStep* step = nullptr;
  int64_t begin = 0;
  int64_t first_launch = 0;  // when its first launch begins
  int64_t end = 0;
};

// Each warm-up step of the record is one slice; the chosen steps follow without the untraced time between them. An
// outer slice comes before those inside, and equal neighbours are one slice. Names live as long as the trace.
struct StepSlices {
  std::vector<Slice> slices;
  std::vector<StepSpan> steps;
};

// The step that takes the median time; of two in the middle the shorter one. There is at least one step.
const TracedStep& median_step(const StepTrace& trace);

// `traced` has a trace with at least one timed step.
StepSlices slices_of(const TracedRecord& traced, ExportedSteps steps);

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
