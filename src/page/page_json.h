// The parts of a page's JSON block. Keys include their units; numbers have six significant digits.
#pragma once

#include "base/json.h"
#include "page/points.h"
#include "page/trace_sums.h"

namespace laptime {

// One point: its configuration, phases, statistics, samples, memory, prediction, verdict and sentences. `sums` belongs
// to its trace; null without one.
Json point_json(const PagePoints& points, const PagePoint& point, const TraceSums* sums);

// The kernels of a trace by phase and class, its memory over the launches in at most `columns` columns, and its
// roofline.
Json trace_json(const TraceSums& sums, size_t columns);

// Published times of work that some point does, each compared with the fastest point for that work.
Json published_json(const PagePoints& points);

}  // namespace laptime
