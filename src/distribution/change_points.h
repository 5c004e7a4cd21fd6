// Where a series of figures moves to another level.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace laptime {

inline constexpr size_t kFewestOfLevel = 3;  // figures of a level: fewer may be a disturbance
inline constexpr size_t kMostOfSeries = 2000;

// The indices at which a new level begins, in ascending order; the first level, at 0, is not among them. The series is
// split where the energy distance of its two sides is largest (e-divisive: Matteson and James 2014), if fewer than one
// in a hundred random orders of the same figures have a split as good, and then each side in turn. `least`: a change of
// the median that does not matter, as a fraction of it. The seed is fixed: the same figures give the same changes.
// Figures must be finite; at most kMostOfSeries, else Error.
std::vector<size_t> find_change_points(std::span<const double> series, double least);

}  // namespace laptime
