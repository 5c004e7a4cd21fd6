// The ratio of two things that were measured in turn: one pair of figures for each round.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "distribution/bootstrap.h"

namespace laptime {

// From fewer rounds no 99 % interval follows: even if all of them agree, chance does that more often.
inline constexpr int64_t kFewestRounds = 8;
inline constexpr int64_t kMostRounds = 1000;

// Outcome of comparing the times of B and A.
enum class Difference : uint8_t {
  kFaster,     // B is
  kSlower,     // B is
  kSame,       // within the margin
  kUndecided,  // the interval contains 1, and reaches beyond the margin
};
std::string_view name_of(Difference difference);  // "faster", "slower", "same", "undecided"

// `interval` is of B / A; `margin`: a difference that does not matter, as a fraction. The interval decides: it lies
// within the margin, or excludes 1, or neither. Undecided without an interval.
Difference difference_of(const std::optional<Interval>& interval, double margin);

struct PairedRatio {
  int64_t rounds = 0;
  double ratio = 1;                  // B / A
  std::optional<Interval> interval;  // 99 %; none from fewer than kFewestRounds

  Difference difference(double margin) const { return difference_of(interval, margin); }
  // The larger distance of an end of the interval from the ratio, as a fraction of it; infinite without one.
  double half_width() const;
};

// `a` and `b`: one figure of each side for each round, all above zero, at most kMostRounds. The ratio is the median of
// the means of every two logarithms of b / a (Hodges and Lehmann 1963), its interval that of Wilcoxon's signed-rank
// test. The interval supposes nothing about the noise but that it favours neither: where each round draws the order of
// A and B, A against itself excludes 1 at most once in a hundred comparisons, whatever disturbs the machine. Error for
// spans of different lengths, none or too many rounds, or a figure that is not a positive finite number.
PairedRatio paired_ratio(std::span<const double> a, std::span<const double> b);

// About how many rounds as noisy as `a` and `b` are needed to show `difference`, a fraction, nineteen times out of
// twenty: by the normal approximation, with the spread from the median absolute deviation. Error as paired_ratio().
int64_t rounds_to_show(double difference, std::span<const double> a, std::span<const double> b);

}  // namespace laptime
