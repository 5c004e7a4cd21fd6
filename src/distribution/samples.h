// Samples in the form that the statistics need: checked and sorted.
#pragma once

#include <span>
#include <vector>

namespace laptime {

// The samples in ascending order. Statistics that do not depend on the order in time are computed from the sorted
// samples, so that they are bit-identical for any order. Throws Error if there is no sample, or if one is not a finite
// number of magnitude up to 1e100 (beyond that, squares and sums would not be finite).
std::vector<double> sorted_samples(std::span<const double> samples);

}  // namespace laptime
