// Finds where a series of figures changes to another level.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace laptime {

inline constexpr size_t kFewestOfLevel = 3;  // fewest figures in a level; fewer may be a mere disturbance
inline constexpr size_t kMostOfSeries = 2000;

// The indices at which a new level begins, in ascending order, without the first level at 0. The series is split where
// the energy distance of its two sides is largest (e-divisive: Matteson and James 2014), if fewer than one in a hundred
// random orders of the same figures have an equally good split. Then each side is split in turn. Finally, adjacent
// levels whose medians differ by at most the fraction `least` are merged. The seed is fixed, so the same figures give
// the same changes. Throws Error unless the figures are finite and there are at most kMostOfSeries.
std::vector<size_t> find_change_points(std::span<const double> series, double least);

}  // namespace laptime
