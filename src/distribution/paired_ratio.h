// The ratio of the times of two alternatives that were measured in turn, with one pair of figures for each round.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "distribution/bootstrap.h"

namespace laptime {

// Fewer rounds give no 99 % interval, because by chance alone all of them favour one side in more than 1 % of cases.
inline constexpr int64_t kFewestRounds = 8;
inline constexpr int64_t kMostRounds = 1000;

// Outcome of comparing the times of B and A.
enum class Difference : uint8_t {
  kFaster,     // B is faster
  kSlower,     // B is slower
  kSame,       // within the margin
  kUndecided,  // no interval, or one that contains 1 and extends beyond the margin
};
std::string_view name_of(Difference difference);  // "faster", "slower", "same", "undecided"

// kSame if `interval`, the interval of B / A, is within the margin; else kFaster or kSlower if it excludes 1;
// kUndecided otherwise or without an interval. `margin` is the largest difference that does not matter, as a fraction.
Difference difference_of(const std::optional<Interval>& interval, double margin);

struct PairedRatio {
  int64_t rounds = 0;
  double ratio = 1;                  // B / A
  std::optional<Interval> interval;  // 99 %; none with fewer than kFewestRounds

  Difference difference(double margin) const { return difference_of(interval, margin); }
  // The distance from the ratio to the farther end of the interval, as a fraction of the ratio; infinite without an
  // interval.
  double half_width() const;
};

// `a` and `b` contain one positive figure per round, for at most kMostRounds rounds. The ratio is the estimate of
// Hodges and Lehmann (1963) of b / a on a log scale: exp of the median of all pairwise means of log(b / a). Its
// interval is that of Wilcoxon's signed-rank test. The interval assumes only that noise favours neither side. If each
// round draws the order of A and B at random, then in a comparison of A with itself the interval excludes the ratio 1
// with a probability of at most 1 %, whatever disturbs the machine. Throws Error for spans of different lengths, for no
// or too many rounds, or for a figure that is not a positive finite number.
PairedRatio paired_ratio(std::span<const double> a, std::span<const double> b);

// The approximate number of rounds needed to detect `difference`, a fraction, with a probability of 95 % if the rounds
// are as noisy as those in `a` and `b`; at least kFewestRounds. Uses the normal approximation, with the spread from the
// median absolute deviation. Throws Error like paired_ratio().
int64_t rounds_to_show(double difference, std::span<const double> a, std::span<const double> b);

}  // namespace laptime
