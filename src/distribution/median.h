// Order statistics: percentile, median, and the median absolute deviation.
#pragma once

#include <span>

namespace laptime {

// The value below which `fraction` of the samples lie, 0 <= fraction <= 1: linear interpolation between the two
// closest ranks, at position fraction * (n - 1) counted from 0 (type 7 of Hyndman and Fan 1996; numpy's default).
// `sorted` ascends and is not empty.
double percentile_of_sorted(std::span<const double> sorted, double fraction);

// The middle sample, or the mean of the two middle ones. `sorted` is in ascending order and not empty.
double median_of_sorted(std::span<const double> sorted);

// The median of samples in any order. Throws Error like sorted_samples.
double median(std::span<const double> samples);

// The median of |sample - centre|, not multiplied by 1.4826 to estimate a standard deviation.
double median_absolute_deviation(std::span<const double> samples, double centre);

}  // namespace laptime
