// What a sweep says before its first point: how many points, about how long, what does not fit, and who else is busy.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/stored_choices.h"
#include "points/expand.h"

namespace laptime {

// What one point is expected to be, before it runs.
struct ExpectedPoint {
  std::optional<Seconds> time;  // set-up, warm-up and samples; none if nothing was measured to predict from
  bool fits = true;
};

// Plans every point that runs on this machine. Empty if there are more than `kMostPlanned`, as planning takes longer
// then than it is worth.
inline constexpr size_t kMostPlanned = 24;
std::vector<ExpectedPoint> expected_points(const std::vector<SweepPoint>& points, const KnowledgeOf& knowledge);

// "16 points, about 3 min; 2 do not fit: large, 2.7B". `expected` as above; empty text where there is nothing to say.
std::string announcement(const std::vector<SweepPoint>& points, const std::vector<ExpectedPoint>& expected);

// Why times will be too long, where other programs keep the cores busy; empty where they do not.
std::string busy_machine(double load, int cores);

}  // namespace laptime
