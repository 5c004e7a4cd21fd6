// From the statistics of samples to the fields of a record.
#include "record/time_stats.h"

#include "distribution/summary.h"

namespace laptime {

TimeStats make_time_stats(std::span<const double> samples) {
  const Summary summary = summarize(samples);
  TimeStats time;
  time.samples.assign(samples.begin(), samples.end());
  time.count = summary.count;
  time.mean = summary.mean;
  time.median = summary.median;
  time.std = summary.std_sample;
  time.std_population = summary.std_population;
  time.min = summary.min;
  time.max = summary.max;
  time.total = summary.total;
  time.mad = summary.mad;
  time.p10 = summary.p10;
  time.p90 = summary.p90;
  time.ci_low = summary.ci_low;
  time.ci_high = summary.ci_high;
  for (const SampleMode& mode : summary.modes) time.modes.push_back({mode.count, mode.median, mode.min, mode.max});
  time.outliers = summary.outliers.modified_z;
  return time;
}

}  // namespace laptime
