// The trend of a series and its test.
#include "distribution/drift.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "distribution/bootstrap.h"
#include "distribution/median.h"
#include "distribution/moments.h"
#include "distribution/samples.h"

namespace laptime {
namespace {

constexpr double kSignificant = 2.576;  // in standard deviations; 1 % of normal values are farther from the mean
constexpr size_t kMostGroups = 400;     // bounds the number of pairs

// The samples, or the medians of consecutive groups of equal size. The last samples are left out if they do not fill a
// group.
std::vector<double> in_groups(std::span<const double> samples) {
  const size_t size = (samples.size() + kMostGroups - 1) / kMostGroups;
  std::vector<double> groups;
  for (size_t at = 0; at + size <= samples.size(); at += size) groups.push_back(median(samples.subspan(at, size)));
  return groups;
}

double square_term(double n) { return n * (n - 1) * (2 * n + 5); }

// Variance of Kendall's S without a trend: the variance for distinct values, reduced by ties.
double kendall_variance(const std::vector<double>& sorted) {
  double variance = square_term(static_cast<double>(sorted.size()));
  for (auto at = sorted.begin(); at != sorted.end();) {
    const auto next = std::upper_bound(at, sorted.end(), *at);
    variance -= square_term(static_cast<double>(next - at));
    at = next;
  }
  return variance / 18;
}

double autocorrelation_beyond(const std::vector<double>& values, double slope) {
  std::vector<double> rest = values;
  for (size_t i = 0; i < rest.size(); ++i) rest[i] -= slope * static_cast<double>(i);
  return lag1_autocorrelation(rest, moments_of_sorted(sorted_samples(rest)).mean);
}

}  // namespace

Drift find_drift(std::span<const double> samples) {
  const std::vector<double> sorted = sorted_samples(samples);
  if (static_cast<int64_t>(samples.size()) < kFewestForInterval) return {};
  const std::vector<double> values = in_groups(samples);
  const size_t n = values.size();
  std::vector<double> slopes;
  slopes.reserve(n * (n - 1) / 2);
  double rising = 0;  // pairs that rise minus pairs that fall
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
      rising += static_cast<double>(values[j] > values[i]) - static_cast<double>(values[j] < values[i]);
    }
  }
  const double slope = median(slopes);
  const double centre = median_of_sorted(sorted);
  Drift drift;
  if (centre != 0) drift.change = slope * static_cast<double>(n - 1) / std::fabs(centre);
  double variance = kendall_variance(sorted_samples(values));
  if (const double r = autocorrelation_beyond(values, slope); r > kBlockBootstrapAbove)
    variance *= (1 + r) / (1 - std::min(r, 0.999));
  // Continuity correction, because S changes in steps of two.
  const double distance = std::max(0.0, std::fabs(rising) - 1);
  drift.significant = variance > 0 && distance > kSignificant * std::sqrt(variance);
  return drift;
}

}  // namespace laptime
