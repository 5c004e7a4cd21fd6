// Finds outliers by the modified z-score.
#include "distribution/outliers.h"

#include <cmath>
#include <cstddef>

#include "distribution/median.h"
#include "distribution/samples.h"

namespace laptime {
namespace {

// The distance from the median beyond which a sample is an outlier.
double modified_z_limit(std::span<const double> samples, double centre) {
  constexpr double kLimit = 3.5;
  constexpr double kMadOfNormal = 0.6745;           // median |x| of the standard normal distribution
  constexpr double kMeanDistanceFactor = 1.253314;  // sqrt(pi / 2): standard deviation / mean |x| of that distribution
  const double mad = median_absolute_deviation(samples, centre);
  if (mad > 0) return kLimit * mad / kMadOfNormal;
  double distances = 0;
  for (const double sample : samples) distances += std::fabs(sample - centre);
  return kLimit * kMeanDistanceFactor * distances / static_cast<double>(samples.size());
}

}  // namespace

std::vector<int64_t> find_outliers(std::span<const double> samples) {
  const double centre = median_of_sorted(sorted_samples(samples));
  const double limit = modified_z_limit(samples, centre);
  std::vector<int64_t> outliers;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (std::fabs(samples[i] - centre) > limit) outliers.push_back(static_cast<int64_t>(i));
  }
  return outliers;
}

}  // namespace laptime
