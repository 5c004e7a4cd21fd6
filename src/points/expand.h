// Expands a sweep into its points.
#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"
#include "config/sweep.h"

namespace laptime {

struct SweepPoint {
  RunConfig config;
  std::string name;     // "step/model:2.7B/ctx:512/dtype:bfloat16/mode:eager/threads:2", unique in the sweep
  std::string label;    // built from the label pattern; empty without one
  std::string invalid;  // why the point is invalid; empty if it is valid
};

// All combinations of the axes' values, including invalid ones. Throws Error if there are more than `max_points`, all
// are invalid or two have the same name.
std::vector<SweepPoint> expand(const Sweep& sweep, size_t max_points = kMaxPoints);

}  // namespace laptime
