// Groups costs by kind.
#include "report/launch_costs_table.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "distribution/median.h"

namespace laptime {
namespace {

struct Kind {
  std::vector<double> flops_per_second;
  std::vector<double> bytes_per_second;
  double shortest = 0;
  double longest = 0;
  std::string newest;
};

double largest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

}  // namespace

Grid launch_costs_grid(std::span<const LaunchCost> costs) {
  std::map<std::pair<std::string, int64_t>, Kind> kinds;
  for (const LaunchCost& cost : costs) {
    if (cost.seconds <= 0) continue;
    Kind& kind = kinds[{cost.kind, cost.threads}];
    kind.shortest = kind.flops_per_second.empty() ? cost.seconds : std::min(kind.shortest, cost.seconds);
    kind.longest = std::max(kind.longest, cost.seconds);
    kind.flops_per_second.push_back(cost.flops / cost.seconds);
    kind.bytes_per_second.push_back(static_cast<double>(cost.bytes) / cost.seconds);
    kind.newest = std::max(kind.newest, cost.created);
  }
  Grid grid{.name = "launch_costs",
            .title = "measured launches by kind (~: an operand that is not contiguous)",
            .columns = {whole_column(text_column("kind", "Kind")),
                        optional_column(1, {"threads", "Threads"}),
                        {"shapes", "Shapes"},
                        {"shortest_s", "Shortest", Unit::kSeconds},
                        {"longest_s", "Longest", Unit::kSeconds},
                        optional_column(2, {"median_flops_per_second", "Median FLOP/s", Unit::kFlopsPerSecond}),
                        {"best_flops_per_second", "Best FLOP/s", Unit::kFlopsPerSecond},
                        optional_column(3, {"median_bytes_per_second", "Median bytes/s", Unit::kBytesPerSecond}),
                        {"best_bytes_per_second", "Best bytes/s", Unit::kBytesPerSecond},
                        optional_column(4, text_column("newest", "Newest"))},
            .rows = {},
            .notes = {}};
  std::vector<std::pair<double, std::vector<Json>>> rows;
  rows.reserve(kinds.size());
  for (const auto& [key, kind] : kinds) {
    rows.push_back({kind.longest,
                    {key.first, key.second, kind.flops_per_second.size(), kind.shortest, kind.longest,
                     median(kind.flops_per_second), largest(kind.flops_per_second), median(kind.bytes_per_second),
                     largest(kind.bytes_per_second), kind.newest}});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [longest, row] : rows) grid.rows.push_back(std::move(row));
  return grid;
}

}  // namespace laptime
