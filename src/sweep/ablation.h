// The sweep that lowers one composite at a time.
#pragma once

#include "points/expand.h"

namespace laptime {

// For every point of the sweep, in compile mode: all composites whole, each one that its step is written in lowered
// alone, and all of them lowered. Error where the sweep states --mode eager, --keep or --lower itself.
std::vector<SweepPoint> expand_ablation(Sweep sweep);

// The points of a sweep as it asks for them: its product, or its ablation.
std::vector<SweepPoint> points_of(const Sweep& sweep);

}  // namespace laptime
