// Walsh averages, and the exact distribution of the signed-rank statistic.
#include "distribution/paired_ratio.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "distribution/median.h"
#include "distribution/samples.h"

namespace laptime {
namespace {

constexpr double kTail = 0.005;  // probability on each side of the interval

// How many of the smallest (and of the largest) Walsh averages are outside the interval: the largest k with P(W < k) <=
// kTail, where W is the sum of a random subset of the ranks 1 ... n, each included with probability 1/2.
size_t averages_outside(size_t n) {
  const size_t most = n * (n + 1) / 2;
  std::vector<double> probability(most + 1);  // indexed by W
  probability[0] = 1;
  for (size_t rank = 1; rank <= n; ++rank) {
    for (size_t sum = rank * (rank + 1) / 2 + 1; sum-- > 0;)
      probability[sum] = (probability[sum] + (sum >= rank ? probability[sum - rank] : 0)) / 2;
  }
  double below = 0;
  size_t k = 0;
  while (k < most && below + probability[k] <= kTail) below += probability[k++];
  return k;
}

std::vector<double> log_ratios(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size() || a.empty() || static_cast<int64_t>(a.size()) > kMostRounds)
    throw Error::format("{} figures of A and {} of B; give one of each per round, for 1 to {} rounds", a.size(),
                        b.size(), kMostRounds);
  std::vector<double> logs;
  logs.reserve(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] > 0 && b[i] > 0))
      throw Error::format("round {} has a figure that is not a positive number; measure again", i + 1);
    logs.push_back(std::log(b[i] / a[i]));
  }
  return logs;
}

}  // namespace

std::string_view name_of(Difference difference) {
  switch (difference) {
    case Difference::kFaster: return "faster";
    case Difference::kSlower: return "slower";
    case Difference::kSame: return "same";
    case Difference::kUndecided: break;
  }
  return "undecided";
}

Difference difference_of(const std::optional<Interval>& interval, double margin) {
  if (!interval) return Difference::kUndecided;
  if (interval->low >= 1 - margin && interval->high <= 1 + margin) return Difference::kSame;
  if (interval->low > 1) return Difference::kSlower;
  return interval->high < 1 ? Difference::kFaster : Difference::kUndecided;
}

double PairedRatio::half_width() const {
  return interval ? relative_half_width(*interval, ratio) : std::numeric_limits<double>::infinity();
}

PairedRatio paired_ratio(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> logs = log_ratios(a, b);
  std::vector<double> averages;
  averages.reserve(logs.size() * (logs.size() + 1) / 2);
  for (size_t i = 0; i < logs.size(); ++i) {
    for (size_t j = i; j < logs.size(); ++j) averages.push_back((logs[i] + logs[j]) / 2);
  }
  averages = sorted_samples(averages);
  PairedRatio result{
      .rounds = static_cast<int64_t>(logs.size()), .ratio = std::exp(median_of_sorted(averages)), .interval = {}};
  const size_t outside = averages_outside(logs.size());
  if (outside == 0) return result;
  result.interval = Interval{std::exp(averages[outside - 1]), std::exp(averages[averages.size() - outside])};
  return result;
}

int64_t rounds_to_show(double difference, std::span<const double> a, std::span<const double> b) {
  constexpr double kNormal99 = 2.576;      // half-width of a 99 % interval, in standard deviations
  constexpr double kNormal95 = 1.645;      // 95 % quantile of the standard normal distribution
  constexpr double kMadOfNormal = 0.6745;  // median absolute deviation / standard deviation of a normal variable
  // Efficiency of the signed ranks relative to the mean, for normal noise (3 / pi).
  constexpr double kEfficiency = 0.955;
  const std::vector<double> logs = log_ratios(a, b);
  const double deviation = median_absolute_deviation(logs, median(logs)) / kMadOfNormal;
  const double rounds = std::pow((kNormal99 + kNormal95) * deviation / std::log1p(difference), 2) / kEfficiency;
  return std::max(kFewestRounds, static_cast<int64_t>(std::ceil(std::min(rounds, 1e9))));
}

}  // namespace laptime
