// Order statistics by sorting, because the numbers of samples are small.
#include "distribution/median.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/error.h"
#include "base/ranges.h"
#include "distribution/samples.h"

namespace laptime {

double percentile_of_sorted(std::span<const double> sorted, double fraction) {
  LAPTIME_CHECK(!sorted.empty() && fraction >= 0 && fraction <= 1, "n {} fraction {}", sorted.size(), fraction);
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - static_cast<double>(below);
  // The form a + w (b - a) keeps equal neighbours exact.
  return sorted[below] + weight * (sorted[above] - sorted[below]);
}

double median_of_sorted(std::span<const double> sorted) {
  LAPTIME_CHECK(!sorted.empty());
  const size_t n = sorted.size();
  const double low = sorted[(n - 1) / 2];
  return low + (sorted[n / 2] - low) / 2;
}

double median(std::span<const double> samples) { return median_of_sorted(sorted_samples(samples)); }

double median_absolute_deviation(std::span<const double> samples, double centre) {
  return median(mapped(samples, [&](double sample) { return std::fabs(sample - centre); }));
}

}  // namespace laptime
