// The parts of the JSON block of a page. Keys have their units in their names; numbers have six significant digits.
#pragma once

#include "base/json.h"
#include "page/points.h"
#include "page/trace_sums.h"

namespace laptime {

// One point: its configuration, phases, statistics, samples, memory, prediction, verdict and sentences. `sums` is that
// of its trace; null without one.
Json point_json(const PagePoints& points, const PagePoint& point, const TraceSums* sums);

// The kernels of a trace by phase and class, its memory over the launches in at most `columns` columns, and its
// roofline.
Json trace_json(const TraceSums& sums, size_t columns);

// Published times of the work of some point, each beside the fastest point of that work.
Json published_json(const PagePoints& points);

}  // namespace laptime
