// Samples far from the others: flagged, never dropped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace laptime {

// Indices, in the order of time, of samples whose modified z-score, 0.6745 |x - median| / MAD, exceeds 3.5 (Iglewicz
// and Hoaglin 1993). Where more than half of the samples are equal, so that the MAD is 0, the mean distance from the
// median takes its place: |x - median| / (1.2533 mean distance) > 3.5. Throws Error as sorted_samples does.
std::vector<int64_t> find_outliers(std::span<const double> samples);

}  // namespace laptime
