// Resamples by rank: a resample is a count per rank, and its median is found by walking the counts, without sorting.
#include "distribution/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "distribution/median.h"
#include "distribution/moments.h"
#include "distribution/samples.h"

namespace laptime {
namespace {

// For each sample, in the order of time, its position in the sorted samples; equal samples keep their order.
std::vector<size_t> ranks_of(std::span<const double> samples) {
  std::vector<size_t> order(samples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return samples[a] < samples[b]; });
  std::vector<size_t> ranks(samples.size());
  for (size_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
  return ranks;
}

// The median of a multiset with as many elements as `sorted`, in which sorted[i] occurs counts[i] times.
double median_of_counts(std::span<const double> sorted, const std::vector<uint32_t>& counts) {
  const size_t n = sorted.size();
  const size_t lower = (n - 1) / 2;
  size_t seen = 0;
  size_t i = 0;
  while (seen + counts[i] <= lower) seen += counts[i++];
  const double low = sorted[i];
  while (seen + counts[i] <= n / 2) seen += counts[i++];
  return low + (sorted[i] - low) / 2;
}

// The mean of the same multiset.
double mean_of_counts(std::span<const double> sorted, const std::vector<uint32_t>& counts) {
  double sum = 0;
  for (size_t i = 0; i < sorted.size(); ++i) sum += sorted[i] * counts[i];
  return sum / static_cast<double>(sorted.size());
}

size_t number_of_resamples(size_t count) {
  constexpr size_t kResamples = 2000;
  constexpr size_t kFewest = 200;
  constexpr size_t kDraws = 20'000'000;  // bounds the time for very many samples, whose interval needs fewer resamples
  return std::clamp(kDraws / count, kFewest, kResamples);
}

// The averages of the resamples, in the order in which they are drawn.
std::vector<double> resampled_averages(std::span<const double> samples, double autocorrelation, uint64_t& counter,
                                       Average average) {
  const std::vector<double> sorted = sorted_samples(samples);
  const size_t n = sorted.size();
  const auto block = static_cast<size_t>(bootstrap_block_length(static_cast<int64_t>(n), autocorrelation));
  const std::vector<size_t> ranks = ranks_of(block == 1 ? std::span<const double>(sorted) : samples);

  std::vector<double> averages(number_of_resamples(n));
  std::vector<uint32_t> counts(n);
  for (double& one : averages) {
    std::fill(counts.begin(), counts.end(), 0);
    for (size_t drawn = 0; drawn < n;) {
      size_t at = draw_below(n, counter);
      for (size_t k = 0; k < block && drawn < n; ++k, ++drawn) {
        ++counts[ranks[at]];
        if (++at == n) at = 0;
      }
    }
    one = average == Average::kMedian ? median_of_counts(sorted, counts) : mean_of_counts(sorted, counts);
  }
  return averages;
}

Interval central_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {percentile_of_sorted(values, 0.025), percentile_of_sorted(values, 0.975)};
}

}  // namespace

size_t draw_below(uint64_t bound, uint64_t& counter) {
  constexpr uint64_t kSeed = 0x6C617074696D65ULL;
  return static_cast<size_t>(((hash_combine(kSeed, counter++) >> 32U) * bound) >> 32U);
}

int64_t bootstrap_block_length(int64_t count, double autocorrelation) {
  if (autocorrelation <= kBlockBootstrapAbove) return 1;
  const double r = std::min(autocorrelation, 0.999);
  const double memory = 2 * r / (1 - r * r);
  const double length = std::ceil(std::cbrt(1.5 * memory * memory * static_cast<double>(count)));
  return std::clamp<int64_t>(static_cast<int64_t>(length), 1, std::max<int64_t>(1, count / 3));
}

Interval bootstrap_median_interval(std::span<const double> samples, double autocorrelation) {
  uint64_t counter = 0;
  return central_interval(resampled_averages(samples, autocorrelation, counter, Average::kMedian));
}

std::optional<Interval> bootstrap_ratio_interval(std::span<const double> numerator, std::span<const double> denominator,
                                                 Average average) {
  const auto enough = [](std::span<const double> samples) {
    return static_cast<int64_t>(samples.size()) >= kFewestForInterval && sorted_samples(samples).front() > 0;
  };
  if (!enough(numerator) || !enough(denominator)) return std::nullopt;
  const auto autocorrelation = [](std::span<const double> samples) {
    return lag1_autocorrelation(samples, moments_of_sorted(sorted_samples(samples)).mean);
  };
  uint64_t counter = 0;  // shared by numerator and denominator, so that their resamples are independent
  std::vector<double> ratios = resampled_averages(numerator, autocorrelation(numerator), counter, average);
  const std::vector<double> below = resampled_averages(denominator, autocorrelation(denominator), counter, average);
  ratios.resize(std::min(ratios.size(), below.size()));
  for (size_t i = 0; i < ratios.size(); ++i) ratios[i] /= below[i];
  return central_interval(std::move(ratios));
}

double relative_half_width(const Interval& interval, double median) {
  const double distance = std::max(interval.high - median, median - interval.low);
  if (distance <= 0) return 0;
  return median == 0 ? std::numeric_limits<double>::infinity() : distance / std::fabs(median);
}

}  // namespace laptime
