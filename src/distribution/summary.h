// Summary: the statistics of one list of times, as stated in a record.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/key.h"
#include "distribution/modes.h"

namespace laptime {

// All samples count; none is dropped. Values are in seconds unless stated otherwise. If there are too few samples,
// summarize() leaves `std` and the interval empty. A record of another program may lack any optional field.
struct Summary {
  int64_t count = 0;
  double mean = 0;
  double median = 0;
  std::optional<double> std;             // sample standard deviation (divided by count - 1); none for one sample
  std::optional<double> std_population;  // divided by count
  double min = 0;
  double max = 0;
  double total = 0;
  std::optional<double> mad;  // median |sample - median|, unscaled
  std::optional<double> p10;  // percentiles: see percentile_of_sorted
  std::optional<double> p90;
  std::optional<double> ci_low;  // 95 % bootstrap interval of the median; none for fewer than six samples
  std::optional<double> ci_high;
  std::vector<SampleMode> modes;  // one, or two
  std::vector<int64_t> outliers;  // indices of samples far from the others; they still count

  friend bool operator==(const Summary&, const Summary&) = default;
  LAPTIME_FIELDS(count, (kSeconds, mean, median, std, std_population, min, max, total, mad, p10, p90, ci_low, ci_high),
                 modes, outliers)
};

// `samples` are in the order of time, which matters for the indices of outliers and for the bootstrap, which
// resamples blocks if adjacent samples resemble each other. Throws Error like sorted_samples.
Summary summarize(std::span<const double> samples);

}  // namespace laptime
