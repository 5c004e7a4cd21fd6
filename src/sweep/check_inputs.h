// Checks the devices and the weights, data and kernels files of a sweep before anything runs.
#pragma once

#include <vector>

#include "points/expand.h"

namespace laptime {

// Marks points as invalid if their device does not exist, or their files cannot be read or do not fit the model. Error
// with the first reason if no valid point remains.
void check_inputs(std::vector<SweepPoint>& points);

}  // namespace laptime
