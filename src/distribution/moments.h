// Sums over samples: mean, standard deviations, and the correlation of adjacent samples.
#pragma once

#include <optional>
#include <span>

namespace laptime {

struct Moments {
  double total = 0;
  double mean = 0;
  std::optional<double> std_sample;  // divided by n - 1; none for one sample
  double std_population = 0;         // divided by n
};

// `sorted` is in ascending order and not empty.
Moments moments_of_sorted(std::span<const double> sorted);

// Lag-1 autocorrelation, sum (x_i - mean)(x_{i+1} - mean) / sum (x_i - mean)^2, in -1 ... 1; 0 if all samples are equal
// or there are fewer than three. `samples` are in the order of time.
double lag1_autocorrelation(std::span<const double> samples, double mean);

}  // namespace laptime
