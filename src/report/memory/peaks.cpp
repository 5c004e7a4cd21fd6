// A row for each point, and the same peaks by pass and number type.
#include "report/memory/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "base/words.h"
#include "report/memory/ledger.h"
#include "report/memory/memory_report.h"

namespace laptime {
namespace {

constexpr size_t kPeak = 2;  // column of the peak

std::vector<GridColumn> peak_columns() {
  std::vector<GridColumn> columns{text_column("point", "Point"),
                                  text_column("basis", "Basis"),
                                  bytes_column("peak_bytes", "Peak"),
                                  text_column("phase", "Reached in"),
                                  bytes_column("parameters_bytes", "Parameters"),
                                  bytes_column("gradients_bytes", "Gradients"),
                                  bytes_column("optimizer_state_bytes", "Optimizer"),
                                  bytes_column("saved_activations_bytes", "Saved"),
                                  bytes_column("autocast_copies_bytes", "Copies"),
                                  bytes_column("temporaries_bytes", "Temporaries"),
                                  bytes_column("other_bytes", "Other")};
  for (size_t i = kPeak + 1; i < columns.size(); ++i) columns[i].optional = true;
  return columns;
}

// The name of a point without its pass and number type: "step/model:small/dtype:float32/mode:eager" ->
// "model:small/mode:eager".
std::string without_pass_and_dtype(std::string_view name) {
  std::string kept;
  for (bool is_first = true; !name.empty(); is_first = false) {
    const size_t slash = name.find('/');
    const std::string_view word = name.substr(0, slash);
    name = slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
    if (is_first || word.starts_with("dtype:")) continue;
    kept += (kept.empty() ? "" : "/") + std::string(word);
  }
  return kept;
}

void append_new(std::vector<std::string>& words, const std::string& word) {
  if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
}

}  // namespace

PeakTable::PeakTable(std::string_view order) : order_(order) {
  if (order_.empty()) return;
  const size_t colon = order_.find(':');
  if (colon != std::string::npos) {
    const std::string direction = order_.substr(colon + 1);
    if (direction != "desc" && direction != "asc")
      throw Error::format("--sort: {} is neither asc nor desc", quote(direction));
    descending_ = direction == "desc";
    order_.resize(colon);
  }
  const std::vector<GridColumn> columns = peak_columns();
  std::vector<std::string_view> keys;
  for (const GridColumn& column : columns) keys.push_back(column.key);
  if (std::find(keys.begin(), keys.end(), order_) == keys.end()) {
    throw Error::format("--sort: the table of peaks has no column {}{}", quote(order_), did_you_mean(order_, keys));
  }
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
  rows_.push_back({record.name, held ? "measured" : "predicted", ledger.planned(),
                   trace->launch_count() == 0 ? "" : std::string(trace->launch(ledger.peak_launch()).phase),
                   peak[MemoryCategory::kParameters], peak[MemoryCategory::kGradients],
                   peak[MemoryCategory::kOptimizerState], peak[MemoryCategory::kSaved],
                   peak[MemoryCategory::kAutocastCopies], peak[MemoryCategory::kTemporaries],
                   ledger.planned() - named});
  cells_.push_back({without_pass_and_dtype(record.name),
                    fmt::format("{} {}", record.config.text("pass"), record.config.text("dtype")), ledger.planned(),
                    held});
}

Grid PeakTable::points_grid() const {
  Grid grid{.name = "peaks", .title = {}, .columns = peak_columns(), .rows = rows_, .notes = {}};
  const auto column =
      std::find_if(grid.columns.begin(), grid.columns.end(), [&](const GridColumn& one) { return one.key == order_; });
  if (column != grid.columns.end()) {
    const auto at = static_cast<size_t>(column - grid.columns.begin());
    std::stable_sort(grid.rows.begin(), grid.rows.end(), [&](const auto& a, const auto& b) {
      if (a[at].is_null() || b[at].is_null()) return !a[at].is_null();
      return descending_ ? b[at] < a[at] : a[at] < b[at];
    });
  }
  return grid;
}

std::optional<Grid> PeakTable::passes_grid() const {
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  for (const Cell& cell : cells_) {
    append_new(rows, cell.row);
    append_new(columns, cell.column);
  }
  if (columns.size() < 2) return std::nullopt;
  Grid grid{.name = "peaks_by_pass",
            .title = "Peaks by pass and number type",
            .columns = {text_column("point", "Point")},
            .rows = {},
            .notes = {}};
  for (const std::string& column : columns) {
    std::string key = column;
    std::replace(key.begin(), key.end(), ' ', '_');
    grid.columns.push_back(bytes_column(key + "_bytes", column));
  }
  size_t held = 0;
  for (const std::string& row : rows) {
    std::vector<Json> line(columns.size() + 1);
    line[0] = row;
    for (const Cell& cell : cells_) {
      if (cell.row != row) continue;
      const auto at = std::find(columns.begin(), columns.end(), cell.column) - columns.begin();
      line[static_cast<size_t>(at) + 1] = cell.bytes;
      held += cell.is_held ? 1 : 0;
    }
    grid.rows.push_back(std::move(line));
  }
  if (held < cells_.size()) {
    grid.notes.push_back(held == 0 ? "All predicted from the plan."
                                   : "Some are predicted from the plan: column Basis of the table above.");
  }
  return grid;
}

PointReport PeakTable::report() const {
  PointReport report{fmt::format("peaks of {} point{}", rows_.size(), rows_.size() == 1 ? "" : "s"), {}, {}};
  const auto largest = std::max_element(rows_.begin(), rows_.end(), [](const auto& a, const auto& b) {
    const auto bytes = [](const std::vector<Json>& row) {
      return row[kPeak].is_null() ? -1 : row[kPeak].get<int64_t>();
    };
    return bytes(a) < bytes(b);
  });
  if (!cells_.empty()) {
    const auto held = std::count_if(cells_.begin(), cells_.end(), [](const Cell& cell) { return cell.is_held; });
    report.lines.push_back(fmt::format("Largest peak: {}, of {}. {} measured, {} predicted from the plan.",
                                       format_bytes((*largest)[kPeak].get<int64_t>()), (*largest)[0].get<std::string>(),
                                       held, cells_.size() - static_cast<size_t>(held)));
  }
  report.grids.push_back(points_grid());
  if (std::optional<Grid> by_pass = passes_grid()) report.grids.push_back(std::move(*by_pass));
  return report;
}

}  // namespace laptime
