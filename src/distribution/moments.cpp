// Moments in extended precision around the median, so that equal samples have a spread of exactly zero.
#include "distribution/moments.h"

#include <cmath>
#include <cstddef>

#include "distribution/median.h"

namespace laptime {

Moments moments_of_sorted(std::span<const double> sorted) {
  const auto count = static_cast<long double>(sorted.size());
  const long double centre = median_of_sorted(sorted);
  long double total = 0;
  long double first = 0;
  long double second = 0;
  for (const double sample : sorted) {
    const long double distance = sample - centre;
    total += sample;
    first += distance;
    second += distance * distance;
  }
  const long double squares = std::fmax(0.0L, second - first * first / count);  // sum of squared deviations
  Moments moments;
  moments.total = static_cast<double>(total);
  moments.mean = static_cast<double>(centre + first / count);
  moments.std_population = static_cast<double>(std::sqrt(squares / count));
  if (sorted.size() > 1) moments.std_sample = static_cast<double>(std::sqrt(squares / (count - 1)));
  return moments;
}

double lag1_autocorrelation(std::span<const double> samples, double mean) {
  if (samples.size() < 3) return 0;
  long double products = 0;
  long double squares = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const long double distance = samples[i] - static_cast<long double>(mean);
    squares += distance * distance;
    if (i + 1 < samples.size()) products += distance * (samples[i + 1] - static_cast<long double>(mean));
  }
  return squares == 0 ? 0 : static_cast<double>(products / squares);
}

}  // namespace laptime
