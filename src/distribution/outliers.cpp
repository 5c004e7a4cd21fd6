// The two usual tests, side by side, because they disagree where the spread is lopsided.
#include "distribution/outliers.h"

#include <cmath>
#include <cstddef>

#include "distribution/median.h"
#include "distribution/samples.h"

namespace laptime {
namespace {

// A distance from the median above which a sample is an outlier by the modified z-score.
double modified_z_limit(std::span<const double> samples, double centre) {
  constexpr double kLimit = 3.5;
  constexpr double kMadOfNormal = 0.6745;           // median |x| of the standard normal distribution
  constexpr double kMeanDistanceFactor = 1.253314;  // sqrt(pi / 2): standard deviation over mean |x|, same distribution
  const double mad = median_absolute_deviation(samples, centre);
  if (mad > 0) return kLimit * mad / kMadOfNormal;
  double distances = 0;
  for (const double sample : samples) distances += std::fabs(sample - centre);
  return kLimit * kMeanDistanceFactor * distances / static_cast<double>(samples.size());
}

}  // namespace

Outliers find_outliers(std::span<const double> samples) {
  const std::vector<double> sorted = sorted_samples(samples);
  const double centre = median_of_sorted(sorted);
  const double farthest = modified_z_limit(samples, centre);
  const double first_quartile = percentile_of_sorted(sorted, 0.25);
  const double third_quartile = percentile_of_sorted(sorted, 0.75);
  const double reach = 1.5 * (third_quartile - first_quartile);

  Outliers outliers;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double sample = samples[i];
    if (std::fabs(sample - centre) > farthest) outliers.modified_z.push_back(static_cast<int64_t>(i));
    if (sample < first_quartile - reach || sample > third_quartile + reach) {
      outliers.tukey.push_back(static_cast<int64_t>(i));
    }
  }
  return outliers;
}

}  // namespace laptime
