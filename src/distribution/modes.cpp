// The test for two modes on sorted samples.
#include "distribution/modes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "distribution/median.h"
#include "distribution/moments.h"
#include "distribution/samples.h"

namespace laptime {
namespace {

SampleMode mode_of(std::span<const double> sorted) {
  return {static_cast<int64_t>(sorted.size()), median_of_sorted(sorted), sorted.front(), sorted.back()};
}

// The index after the widest gap that leaves at least `fewest` samples on both sides.
size_t widest_gap(std::span<const double> sorted, size_t fewest) {
  size_t cut = fewest;
  for (size_t i = fewest; i + fewest <= sorted.size(); ++i) {
    if (sorted[i] - sorted[i - 1] > sorted[cut] - sorted[cut - 1]) cut = i;
  }
  return cut;
}

bool clearly_apart(std::span<const double> lower, std::span<const double> upper, double median_of_all) {
  constexpr double kSmallestDistance = 0.01;
  const Moments low = moments_of_sorted(lower);
  const Moments high = moments_of_sorted(upper);
  const double distance = high.mean - low.mean;
  const double spread = std::hypot(low.std_sample.value_or(0), high.std_sample.value_or(0));
  const double limit = 4 + 30 / static_cast<double>(lower.size() + upper.size());
  return std::sqrt(2.0) * distance > limit * spread &&
         median_of_sorted(upper) - median_of_sorted(lower) >= kSmallestDistance * std::fabs(median_of_all);
}

}  // namespace

std::vector<SampleMode> find_modes(std::span<const double> samples) {
  constexpr double kSmallestShare = 0.15;
  const std::vector<double> sorted = sorted_samples(samples);
  const std::span<const double> all(sorted);
  const auto share = static_cast<size_t>(std::ceil(kSmallestShare * static_cast<double>(sorted.size())));
  const size_t fewest = std::max<size_t>(3, share);
  if (sorted.size() < 2 * fewest) return {mode_of(all)};
  const size_t cut = widest_gap(all, fewest);
  const auto lower = all.first(cut);
  const auto upper = all.subspan(cut);
  if (!clearly_apart(lower, upper, median_of_sorted(all))) return {mode_of(all)};
  return {mode_of(lower), mode_of(upper)};
}

}  // namespace laptime
