// Pictures of a profile: a flame graph of its scopes, and its launches under the roofline.
#pragma once

#include <span>
#include <string>

#include "report/trace_panel.h"

namespace laptime {

// For each point, below each other: the step as an icicle of phase, scope and op, whose widths are seconds of a traced
// step, and a roofline plot with a dot for each op and phase. The traces must have steps.
std::string profile_svg(std::span<const TracePanel> panels);

}  // namespace laptime
