// Tests whether samples rise or fall over time.
#pragma once

#include <span>

namespace laptime {

struct Drift {
  double change = 0;         // change from the first sample to the last along the trend, as a fraction of the median
  bool significant = false;  // true if noise alone causes such a trend in less than 1 % of series
};

// The trend is the median of the slopes of all pairs of samples (Theil 1950, Sen 1968). Its test is that of Mann and
// Kendall (1945, 1975), corrected for ties. If adjacent samples resemble each other beyond the trend (lag-1
// autocorrelation r above kBlockBootstrapAbove), the variance of the test is multiplied by (1 + r) / (1 - r), because
// such noise can look like a trend. `samples` are in the order of time; long series are first reduced to medians of
// equal groups. Fewer than kFewestForInterval samples have no trend. Throws Error like sorted_samples.
Drift find_drift(std::span<const double> samples);

}  // namespace laptime
