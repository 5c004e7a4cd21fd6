// Finds the modes of samples. A machine that alternates between fast and slow produces two modes, and a single median
// would mislead.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/key.h"

namespace laptime {

// One of the peaks around which samples cluster, in seconds.
struct SampleMode {
  int64_t count = 0;
  double median = 0;
  double min = 0;
  double max = 0;

  friend bool operator==(const SampleMode&, const SampleMode&) = default;
  LAPTIME_FIELDS(count, (kSeconds, median, min, max))
};

// One mode, or two with the faster first. The sorted samples are split at their widest gap that leaves at least
// max(3, 15 %) samples on either side. Both parts are modes if two conditions hold:
//   - Ashman's D = sqrt(2) |mean_1 - mean_2| / sqrt(var_1 + var_2) exceeds 4 + 30 / n. Ashman et al. (1994) require 2
//     for two fitted components; splitting a single normal peak already gives about 2.6, and more for few samples.
//     With this limit about 0.3 % of normal peaks and 1 to 3 % of skewed ones are taken for two modes.
//   - Their medians differ by at least 1 % of the median of all samples: a smaller difference changes no conclusion.
// Fewer than six samples have one mode. Throws Error like sorted_samples.
std::vector<SampleMode> find_modes(std::span<const double> samples);

}  // namespace laptime
