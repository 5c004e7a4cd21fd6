// Combines the statistics of one list of samples.
#include "distribution/summary.h"

#include "distribution/bootstrap.h"
#include "distribution/median.h"
#include "distribution/moments.h"
#include "distribution/outliers.h"
#include "distribution/samples.h"

namespace laptime {

Summary summarize(std::span<const double> samples) {
  const std::vector<double> sorted = sorted_samples(samples);
  const Moments moments = moments_of_sorted(sorted);
  Summary summary;
  summary.count = static_cast<int64_t>(sorted.size());
  summary.mean = moments.mean;
  summary.median = median_of_sorted(sorted);
  summary.std = moments.std_sample;
  summary.std_population = moments.std_population;
  summary.min = sorted.front();
  summary.max = sorted.back();
  summary.total = moments.total;
  summary.mad = median_absolute_deviation(samples, summary.median);
  summary.p10 = percentile_of_sorted(sorted, 0.1);
  summary.p90 = percentile_of_sorted(sorted, 0.9);
  if (summary.count >= kFewestForInterval) {
    const Interval interval = bootstrap_median_interval(samples, lag1_autocorrelation(samples, moments.mean));
    summary.ci_low = interval.low;
    summary.ci_high = interval.high;
  }
  summary.modes = find_modes(samples);
  summary.outliers = find_outliers(samples);
  return summary;
}

}  // namespace laptime
