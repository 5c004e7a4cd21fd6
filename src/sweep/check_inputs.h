// What a sweep names beside numbers, looked at before anything runs: devices, weights, data and kernels files.
#pragma once

#include <vector>

#include "points/expand.h"

namespace laptime {

// Points whose device does not exist, or whose files cannot be read or do not fit the model, become invalid. Error with
// the first reason when no valid point is left.
void check_inputs(std::vector<SweepPoint>& points);

}  // namespace laptime
