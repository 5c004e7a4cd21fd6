// The bytes held over a step as an SVG picture.
#pragma once

#include <span>
#include <string>

#include "report/trace_panel.h"

namespace laptime {

// One panel for each point, below each other: bytes stacked by category over the launches of the step, its phases, and
// the life of its largest allocations.
std::string timeline_svg(std::span<const TracePanel> panels);

}  // namespace laptime
