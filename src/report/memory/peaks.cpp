// A row for each point, and the same peaks by pass and number type.
#include "report/memory/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "analysis/memory_ledger.h"
#include "base/units.h"
#include "base/words.h"
#include "report/memory/memory_report.h"
#include "report/point_names.h"
#include "report/row.h"

namespace laptime {
namespace {

constexpr const char* kName = "peaks";
constexpr size_t kPeak = 2;       // column of the peak
constexpr int kMostOptional = 8;  // above those of peak_columns

std::vector<GridColumn> peak_columns() {
  return {text_column("point", "Point"),
          text_column("basis", "Basis"),
          bytes_column("peak_bytes", "Peak"),
          optional_column(5, text_column("phase", "Reached in")),
          optional_column(2, bytes_column("parameters_bytes", "Parameters")),
          optional_column(2, bytes_column("gradients_bytes", "Gradients")),
          optional_column(2, bytes_column("optimizer_state_bytes", "Optimizer")),
          optional_column(1, bytes_column("saved_activations_bytes", "Saved")),
          optional_column(3, bytes_column("autocast_copies_bytes", "Copies")),
          optional_column(4, bytes_column("temporaries_bytes", "Temporaries")),
          optional_column(7, bytes_column("other_bytes", "Other"))};
}

}  // namespace

PeakTable::PeakTable(std::string_view order) {
  if (!order.empty()) order_ = grid_order(kName, peak_columns(), order, Direction::kAscending);
}

void PeakTable::add(const Record& record, const std::optional<StepTrace>& trace) {
  std::vector<Json> row(peak_columns().size());
  row[0] = record.name;
  if (!trace) {
    row[1] = name_of(record.status);
    rows_.push_back(std::move(row));
    return;
  }
  const MemoryLedger ledger(*trace);
  const CategoryBytes& peak = ledger.peak();
  const bool held = was_held(record);
  const int64_t named = peak[MemoryCategory::kParameters] + peak[MemoryCategory::kGradients] +
                        peak[MemoryCategory::kOptimizerState] + peak[MemoryCategory::kSaved] +
                        peak[MemoryCategory::kAutocastCopies] + peak[MemoryCategory::kTemporaries];
  const bool fits = record.status != Status::kOutOfMemory;
  const char* const basis = held ? "measured" : fits ? "predicted" : "predicted, does not fit";
  rows_.push_back({record.name, basis, ledger.planned(),
                   trace->launch_count() == 0 ? "" : std::string(trace->launch(ledger.peak_launch()).phase),
                   peak[MemoryCategory::kParameters], peak[MemoryCategory::kGradients],
                   peak[MemoryCategory::kOptimizerState], peak[MemoryCategory::kSaved],
                   peak[MemoryCategory::kAutocastCopies], peak[MemoryCategory::kTemporaries],
                   ledger.planned() - named});
  by_pass_.add(record, ledger.planned(), held);
}

Grid PeakTable::points_grid() const {
  Grid grid{.name = kName, .title = {}, .columns = peak_columns(), .rows = rows_, .notes = {}};
  std::vector<std::string> names;
  for (const std::vector<Json>& row : rows_) names.push_back(row[0].get<std::string>());
  if (const std::string common = common_words(names); !common.empty()) {
    grid.title = "Peaks: " + common;
    grid.columns.front().shown = [common](const Json& name) { return without_words(name.get<std::string>(), common); };
  }
  // A narrow terminal first loses the columns in which nothing is held.
  for (size_t i = 0; i < grid.columns.size(); ++i) {
    const bool is_empty =
        std::all_of(rows_.begin(), rows_.end(), [&](const auto& row) { return row[i].is_null() || row[i] == 0; });
    if (is_empty && grid.columns[i].optional > 0) grid.columns[i].optional = kMostOptional;
  }
  if (!order_) return grid;
  std::vector<std::vector<Json>> rows;
  for (const size_t row : row_order(grid, *order_)) rows.push_back(std::move(grid.rows[row]));
  grid.rows = std::move(rows);
  return grid;
}

PointReport PeakTable::report() const {
  PointReport report{"peaks of " + counted(rows_.size(), "point"), {}, {}};
  const auto largest = std::max_element(rows_.begin(), rows_.end(), [](const auto& a, const auto& b) {
    const auto bytes = [](const std::vector<Json>& row) {
      return row[kPeak].is_null() ? -1 : row[kPeak].get<int64_t>();
    };
    return bytes(a) < bytes(b);
  });
  if (by_pass_.peaks() > 0) {
    report.lines.push_back(fmt::format("Largest peak: {}, of {}. {} measured, {} predicted from the plan.",
                                       format_bytes((*largest)[kPeak].get<int64_t>()), (*largest)[0].get<std::string>(),
                                       by_pass_.held(), by_pass_.peaks() - by_pass_.held()));
  }
  report.grids.push_back(points_grid());
  if (std::optional<Grid> by_pass = by_pass_.grid()) {
    if (by_pass_.held() > 0 && by_pass_.held() < by_pass_.peaks())
      by_pass->notes.emplace_back("Some are predicted from the plan: column Basis of the table above.");
    report.grids.push_back(std::move(*by_pass));
  }
  return report;
}

}  // namespace laptime
