// The bytes held over a step as an SVG picture.
#pragma once

#include <span>
#include <string>

#include "record/step_trace.h"

namespace laptime {

struct TimelinePanel {
  std::string title;  // of the point
  std::string subtitle;
  const StepTrace* trace = nullptr;
};

// One panel for each point, below each other: bytes stacked by category over the launches of the step, its phases, and
// the life of its largest allocations.
std::string timeline_svg(std::span<const TimelinePanel> panels);

}  // namespace laptime
