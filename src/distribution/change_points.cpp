// Splits a series hierarchically, with a permutation test for each split.
#include "distribution/change_points.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "distribution/median.h"
#include "distribution/samples.h"

namespace laptime {
namespace {

constexpr int kOrders = 199;  // random orders of a permutation test
// A change is accepted if at most this many orders have an equally good split: a p-value of (1 + 1) / (199 + 1) = 1 %.
constexpr int kMostBetter = 1;

struct Split {
  size_t at = 0;
  double distance = 0;  // energy distance of the two sides, weighted by their sizes
};

// Finds the best split incrementally: moving one figure from right to left changes each sum of |x - y| only by the
// distances to that figure.
Split best_split(std::span<const double> series) {
  const size_t n = series.size();
  const auto distances_to = [&](size_t index, size_t begin, size_t end) {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += std::abs(series[i] - series[index]);
    return sum;
  };
  double left = 0;   // sum of |x - y| over all pairs on the left
  double right = 0;  // sum of |x - y| over all pairs on the right
  double across = 0;
  for (size_t i = 0; i < n; ++i) right += distances_to(i, i + 1, n);
  Split best;
  for (size_t at = 1; at < n; ++at) {
    const double to_left = distances_to(at - 1, 0, at - 1);
    const double to_right = distances_to(at - 1, at, n);
    left += to_left;
    right -= to_right;
    across += to_right - to_left;
    if (at < kFewestOfLevel || n - at < kFewestOfLevel) continue;
    const auto m = static_cast<double>(at);
    const auto k = static_cast<double>(n - at);
    const double distance =
        m * k / (m + k) * (2 * across / (m * k) - 2 * left / (m * (m - 1)) - 2 * right / (k * (k - 1)));
    if (best.at == 0 || distance > best.distance) best = {at, distance};
  }
  return best;
}

// Repeatedly merges the two adjacent levels whose medians have the smallest relative difference, until all differences
// exceed `least`. `changes` contains the indices at which a new level begins.
void merge_levels(std::span<const double> series, double least, std::vector<size_t>& changes) {
  const auto median_of = [&](size_t level) {
    const size_t begin = level == 0 ? 0 : changes[level - 1];
    const size_t end = level == changes.size() ? series.size() : changes[level];
    return median(series.subspan(begin, end - begin));
  };
  while (!changes.empty()) {
    size_t smallest = 0;
    double size = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < changes.size(); ++i) {
      const double before = median_of(i);
      const double difference = std::abs(median_of(i + 1) - before);
      const double relative = difference <= 0 ? 0 : difference / std::abs(before);
      if (relative < size) std::tie(smallest, size) = std::pair(i, relative);
    }
    if (size > least) return;
    changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(smallest));
  }
}

class Search {
 public:
  void split(std::span<const double> series, size_t offset) {
    if (series.size() < 2 * kFewestOfLevel) return;
    const Split best = best_split(series);
    if (!is_change(series, best)) return;
    split(series.first(best.at), offset);
    found_.push_back(offset + best.at);
    split(series.subspan(best.at), offset + best.at);
  }

  std::vector<size_t> found() && { return std::move(found_); }

 private:
  bool is_change(std::span<const double> series, const Split& best) {
    if (best.distance <= 0) return false;
    std::vector<double> order(series.begin(), series.end());
    int better = 0;
    for (int i = 0; i < kOrders && better <= kMostBetter; ++i) {
      for (size_t last = order.size() - 1; last > 0; --last) {
        const size_t other = hash_combine(kSeed, counter_++) % (last + 1);
        std::swap(order[last], order[other]);
      }
      better += best_split(order).distance >= best.distance ? 1 : 0;
    }
    return better <= kMostBetter;
  }

  static constexpr uint64_t kSeed = 0x686973746F7279ULL;
  uint64_t counter_ = 0;
  std::vector<size_t> found_;
};

}  // namespace

std::vector<size_t> find_change_points(std::span<const double> series, double least) {
  if (series.size() > kMostOfSeries)
    throw Error::format("a series of {} figures is too long; select at most {}", series.size(), kMostOfSeries);
  if (series.size() < 2 * kFewestOfLevel) return {};
  sorted_samples(series);  // only to check the figures
  Search search;
  search.split(series, 0);
  std::vector<size_t> changes = std::move(search).found();
  merge_levels(series, least, changes);
  return changes;
}

}  // namespace laptime
