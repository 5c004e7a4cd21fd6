// Bootstrap intervals of a median and of a ratio of medians or means: how precisely the samples determine them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace laptime {

// Fewer samples give no 95 % interval: even [min, max] contains the median with less than 95 % confidence.
inline constexpr int64_t kFewestForInterval = 6;

struct Interval {
  double low = 0;
  double high = 0;
};

// Draws a number below `bound` (at most 2^32) from a generator with a fixed seed. `counter` is the position in the
// generator's sequence; each call increments it.
size_t draw_below(uint64_t bound, uint64_t& counter);

// Above this lag-1 autocorrelation, neighbouring samples are resampled together, in blocks.
inline constexpr double kBlockBootstrapAbove = 0.2;

// How many adjacent samples form a block: 1 for autocorrelations up to kBlockBootstrapAbove, and otherwise the optimum
// for a first-order autoregression, (3/2)^(1/3) (2 r / (1 - r^2))^(2/3) n^(1/3) (Politis and White 2004, circular
// blocks), rounded up and at most n / 3.
int64_t bootstrap_block_length(int64_t count, double autocorrelation);

// The 95 % percentile interval of the median: the 2.5 and 97.5 percentiles of the medians of resamples (2,000 for up to
// 10,000 samples; fewer for more samples, but at least 200). The seed is fixed, so the same samples give the same
// interval. With blocks of one, the order of the samples does not matter. A longer block contains samples adjacent in
// time, where the first sample follows the last (Politis and Romano 1992). Throws Error like sorted_samples. With fewer
// than kFewestForInterval samples, the result is not a 95 % interval.
Interval bootstrap_median_interval(std::span<const double> samples, double autocorrelation);

enum class Average : uint8_t { kMedian, kMean };

// The 95 % percentile interval of average(numerator) / average(denominator). Both are resampled independently, as for
// bootstrap_median_interval, each with its own autocorrelation. None if either has fewer than kFewestForInterval
// samples or a sample that is not positive. Throws Error like sorted_samples.
std::optional<Interval> bootstrap_ratio_interval(std::span<const double> numerator, std::span<const double> denominator,
                                                 Average average = Average::kMedian);

// The distance from the median to the farther end of the interval, as a fraction of the median: 0.01 means "within 1
// %". Infinite if the median is 0 and an end of the interval is not.
double relative_half_width(const Interval& interval, double median);

}  // namespace laptime
