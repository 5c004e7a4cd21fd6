// From a sweep to its points.
#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"
#include "config/sweep.h"

namespace laptime {

struct SweepPoint {
  RunConfig config;
  std::string name;     // "step/model:2.7B/ctx:512/dtype:bfloat16/mode:eager/threads:2", unique in the sweep
  std::string label;    // by the sweep's pattern; empty without one
  std::string invalid;  // why this point cannot exist; empty: it can
};

// All points of the product, invalid ones included. Error where there are more than `max_points`, or all are invalid.
std::vector<SweepPoint> expand(const Sweep& sweep, size_t max_points = kMaxPoints);

}  // namespace laptime
