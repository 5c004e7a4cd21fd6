// Rounds shares.
#include "report/percents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace laptime {

std::string percent_text(double fraction) {
  const double percent = 100 * fraction;
  const double size = std::abs(percent);
  if (size >= 10) return fmt::format("{:.0f} %", percent);
  return size >= 0.1 ? fmt::format("{:.1f} %", percent) : fmt::format("{:.2g} %", percent);
}

std::vector<int64_t> whole_percents(const std::vector<int64_t>& parts) {
  std::vector<int64_t> percents(parts.size());
  const int64_t sum = std::accumulate(parts.begin(), parts.end(), int64_t{0});
  if (sum <= 0) return percents;
  std::vector<std::pair<double, size_t>> remainders;
  for (size_t i = 0; i < parts.size(); ++i) {
    const double percent = 100 * static_cast<double>(parts[i]) / static_cast<double>(sum);
    percents[i] = static_cast<int64_t>(percent);
    remainders.emplace_back(percent - std::floor(percent), i);
  }
  std::stable_sort(remainders.begin(), remainders.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const int64_t left = 100 - std::accumulate(percents.begin(), percents.end(), int64_t{0});
  for (size_t i = 0; i < static_cast<size_t>(left); ++i) ++percents[remainders[i].second];
  return percents;
}

}  // namespace laptime
