// Expands a sweep that lowers one composite at a time.
#pragma once

#include "points/expand.h"

namespace laptime {

// For every point of the sweep in compile mode: one point with all composites whole, one for each composite of the step
// with only that composite lowered, and one with all lowered. Error if the sweep sets --mode eager, --keep or --lower.
std::vector<SweepPoint> expand_ablation(Sweep sweep);

// The points of a sweep: its ablation if it asks for one, else its product.
std::vector<SweepPoint> points_of(const Sweep& sweep);

}  // namespace laptime
