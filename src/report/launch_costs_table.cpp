// Groups costs by kind.
#include "report/launch_costs_table.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "distribution/median.h"
#include "report/answer.h"

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

Table launch_costs_table(std::span<const LaunchCost> costs) {
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
  Table table{.name = "launch_costs",
              .columns = columns_from(
                  "<kind=kind; threads=threads@1; shapes=shapes; shortest_s=shortest; longest_s=longest; "
                  "median_flops_per_second=median FLOP/s@3; best_flops_per_second=best FLOP/s@2; "
                  "median_bytes_per_second=median bytes/s@4; best_bytes_per_second=best bytes/s@2; <newest=newest@5")};
  std::vector<std::pair<double, std::vector<TableCell>>> rows;
  rows.reserve(kinds.size());
  for (const auto& [key, kind] : kinds) {
    rows.push_back({kind.longest,
                    {key.first, key.second, kind.flops_per_second.size(), kind.shortest, kind.longest,
                     median(kind.flops_per_second), largest(kind.flops_per_second), median(kind.bytes_per_second),
                     largest(kind.bytes_per_second), kind.newest}});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [longest, row] : rows) table.add(std::move(row));
  return table;
}

}  // namespace laptime
