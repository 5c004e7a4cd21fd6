// Samples far from the others. They are flagged, never dropped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace laptime {

// Indices, in the order of time, of samples whose modified z-score, 0.6745 |x - median| / MAD, exceeds 3.5 (Iglewicz
// and Hoaglin 1993). If more than half of the samples are equal, the MAD is 0, and the mean distance from the median is
// used instead: |x - median| / (1.2533 mean distance) > 3.5. Throws Error like sorted_samples.
std::vector<int64_t> find_outliers(std::span<const double> samples);

}  // namespace laptime
