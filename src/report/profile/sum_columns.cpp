// How each column reads a sum.
#include "report/profile/sum_columns.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "report/row.h"

namespace laptime {
namespace {

Json rate(double amount, double seconds) { return amount > 0 && seconds > 0 ? Json(amount / seconds) : Json(nullptr); }

struct SumColumn {
  const char* key;
  const char* title;
  Unit unit;
  Json (*read)(const LaunchSum& sum, double whole);
  int optional = 0;  // as in GridColumn
};

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

constexpr SumColumn kShare{"time_share", "Time", Unit::kFraction,
                           [](const LaunchSum& s, double whole) { return whole > 0 ? Json(s.total / whole) : Json(); }};
constexpr SumColumn kTotal{"total_s", "Total", Unit::kSeconds,
                           [](const LaunchSum& s, double) { return Json(s.total); }};
constexpr SumColumn kCalls{"calls", "Calls", Unit::kNone, [](const LaunchSum& s, double) { return Json(s.calls); }, 2};
constexpr SumColumn kInstances{"instances", "Instances", Unit::kNone,
                               [](const LaunchSum& s, double) { return Json(s.calls); }, 2};
constexpr SumColumn kMean{"mean_s", "Avg", Unit::kSeconds, [](const LaunchSum& s, double) { return Json(s.mean()); },
                          3};
constexpr SumColumn kMedian{"median_s", "Med", Unit::kSeconds,
                            [](const LaunchSum& s, double) { return Json(s.median()); }, 4};
constexpr SumColumn kMin{"min_s", "Min", Unit::kSeconds, [](const LaunchSum& s, double) { return Json(s.min()); }, 5};
constexpr SumColumn kMax{"max_s", "Max", Unit::kSeconds, [](const LaunchSum& s, double) { return Json(s.max()); }, 5};
constexpr SumColumn kStd{"std_s", "StdDev", Unit::kSeconds, [](const LaunchSum& s, double) { return or_null(s.std()); },
                         6};
constexpr SumColumn kFlops{"flops", "FLOPs", Unit::kFlops, [](const LaunchSum& s, double) { return Json(s.flops); }, 7};
constexpr SumColumn kBytes{"bytes", "Bytes", Unit::kBytes,
                           [](const LaunchSum& s, double) { return Json(static_cast<int64_t>(s.bytes)); }, 7};
constexpr SumColumn kFlopRate{"flops_per_second", "FLOP/s", Unit::kFlopsPerSecond,
                              [](const LaunchSum& s, double) { return rate(s.flops, s.total); }, 8};
constexpr SumColumn kByteRate{"bytes_per_second", "bytes/s", Unit::kBytesPerSecond,
                              [](const LaunchSum& s, double) { return rate(s.bytes, s.total); }, 8};
constexpr SumColumn kOfRoofline{"of_roofline", "Of bound", Unit::kFraction,
                                [](const LaunchSum& s, double) { return or_null(s.of_roofline()); }, 1};
constexpr SumColumn kBound{"bound", "Bound", Unit::kNone,
                           [](const LaunchSum& s, double) { return text_or_null(s.bound()); }, 2};

constexpr std::array kAllColumns{kShare, kTotal, kCalls, kMean,     kMedian,   kMin,        kMax,
                                 kStd,   kFlops, kBytes, kFlopRate, kByteRate, kOfRoofline, kBound};
// Work stands beside time, also where there is little room.
constexpr SumColumn never_left_out(SumColumn column) {
  column.optional = 0;
  return column;
}
constexpr std::array kShortColumns{kShare, kTotal,    kCalls,    kMean,       never_left_out(kFlops),
                                   kBytes, kFlopRate, kByteRate, kOfRoofline, kBound};
constexpr std::array kKernelColumns{kShare, kTotal, kInstances, kMean,     kMedian,     kMin,
                                    kMax,   kStd,   kFlopRate,  kByteRate, kOfRoofline, kBound};

std::span<const SumColumn> list_of(SumColumns columns) {
  switch (columns) {
    case SumColumns::kAll: return kAllColumns;
    case SumColumns::kShort: return kShortColumns;
    case SumColumns::kKernels: return kKernelColumns;
  }
  return kAllColumns;
}

}  // namespace

GridColumn with_pass_name(GridColumn column, const std::string& pass) {
  column.shown = [pass](const Json& value) { return value == "step" ? pass : value.get<std::string>(); };
  return column;
}

GridColumn of_bound_column() {
  GridColumn column{kOfRoofline.key, kOfRoofline.title, kOfRoofline.unit, false, kOfRoofline.optional};
  column.shown = [](const Json& value) {
    return value.is_number() && value.get<double>() > 1 ? ">100 %" : format_value(value, kOfRoofline.unit);
  };
  return column;
}

Grid sum_grid(const std::string& name, const std::string& title, const std::vector<GridColumn>& text_columns,
              const std::vector<SumRow>& rows, SumColumns columns, double whole) {
  const std::span<const SumColumn> list = list_of(columns);
  const bool texts_last = columns == SumColumns::kKernels;
  Grid grid{.name = name, .title = title, .columns = {}, .rows = {}, .notes = {}};
  for (const SumColumn& column : list) {
    grid.columns.push_back(column.key == std::string_view(kOfRoofline.key)
                               ? of_bound_column()
                               : GridColumn{column.key, column.title, column.unit, false, column.optional});
  }
  grid.columns.insert(texts_last ? grid.columns.end() : grid.columns.begin(), text_columns.begin(), text_columns.end());
  for (const SumRow& row : rows) {
    std::vector<Json> cells;
    for (const SumColumn& column : list) cells.push_back(column.read(row.sum, whole));
    cells.insert(texts_last ? cells.end() : cells.begin(), row.texts.begin(), row.texts.end());
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

void explain_above_bound(Grid& grid) {
  const auto index_of = [&](std::string_view key) {
    const auto found = std::find_if(grid.columns.begin(), grid.columns.end(),
                                    [&](const GridColumn& column) { return column.key == key; });
    return static_cast<size_t>(found - grid.columns.begin());
  };
  const size_t fraction = index_of(kOfRoofline.key);
  const size_t bound = index_of(kBound.key);
  bool in_memory = false;
  bool in_compute = false;
  for (const std::vector<Json>& row : grid.rows) {
    if (!row[fraction].is_number() || row[fraction].get<double>() <= 1) continue;
    (row[bound] == "compute" ? in_compute : in_memory) = true;
  }
  if (in_memory)
    grid.notes.emplace_back("Above 100 % of memory: operands stay in the caches, which are faster than main memory.");
  if (in_compute) {
    grid.notes.emplace_back(
        "Above 100 % of compute: kernels skip FLOPs that are masked, or the peak was measured while the machine was "
        "slower.");
  }
}

}  // namespace laptime
