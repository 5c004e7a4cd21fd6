// Traced steps as nested slices of time: warm-up, step, phases, modules, named ranges, launches.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "export/formats.h"

namespace laptime {

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

}  // namespace laptime
