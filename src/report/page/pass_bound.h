// The time that a pass would take at the roofline, and how close it comes to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/trace_findings.h"
#include "report/page/page_parts.h"
#include "report/page/page_view.h"

namespace laptime {

// None where the trace does not know both, or the point has no time to hold against them.
std::optional<PassBound> bound_of_pass(const TracedPoint& point);

// How much of its bound a pass reaches by its median, and what the bound consists of; empty where it has none.
std::string bound_sentence(const TracedPoint& point);

// The bounds of several points beside their times; none where fewer than two have one.
std::optional<PageFigure> bounds_figure(const std::vector<TracedPoint>& points);

}  // namespace laptime
