// Everything that is said about one list of samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "distribution/modes.h"
#include "distribution/outliers.h"

namespace laptime {

// All samples count: none is dropped. In the unit of the samples, except where said.
struct Summary {
  int64_t count = 0;
  double mean = 0;
  double median = 0;
  std::optional<double> std_sample;  // divided by n - 1; none for one sample
  double std_population = 0;         // divided by n
  double min = 0;
  double max = 0;
  double total = 0;
  double mad = 0;  // median |sample - median|, unscaled
  double p10 = 0;  // percentiles: see percentile_of_sorted
  double p90 = 0;
  std::optional<double> ci_low;  // 95 % bootstrap interval of the median; none for one sample
  std::optional<double> ci_high;
  double lag1_autocorrelation = 0;  // without unit
  std::vector<SampleMode> modes;    // one, or two
  Outliers outliers;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("count", self.count);
    visit("mean", self.mean);
    visit("median", self.median);
    visit("std", self.std_sample);
    visit("std_population", self.std_population);
    visit("min", self.min);
    visit("max", self.max);
    visit("total", self.total);
    visit("mad", self.mad);
    visit("p10", self.p10);
    visit("p90", self.p90);
    visit("ci_low", self.ci_low);
    visit("ci_high", self.ci_high);
    visit("lag1_autocorrelation", self.lag1_autocorrelation);
    visit("modes", self.modes);
    visit("outliers", self.outliers);
  }
};

// `samples` are in the order of time, which only the autocorrelation, the places of outliers and a block bootstrap look
// at. Throws Error as sorted_samples does.
Summary summarize(std::span<const double> samples);

}  // namespace laptime
