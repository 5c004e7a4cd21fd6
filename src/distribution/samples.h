// Samples as the statistics take them: checked and sorted.
#pragma once

#include <span>
#include <vector>

namespace laptime {

// The samples from smallest to largest. Statistics that do not depend on the order in time are computed from these, so
// that they are bitwise the same for any order.
// Throws Error when there is no sample, or when one is not a finite number of a magnitude up to 1e100 (beyond it,
// squares and sums would no longer be finite).
std::vector<double> sorted_samples(std::span<const double> samples);

}  // namespace laptime
