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
#include "report/point_names.h"
#include "report/row.h"

namespace laptime {
namespace {

constexpr size_t kPeak = 2;  // column of the peak

std::vector<GridColumn> peak_columns() {
  return {text_column("point", "Point"),
          text_column("basis", "Basis"),
          bytes_column("peak_bytes", "Peak"),
          optional_column(5, text_column("phase", "Reached in")),
          optional_column(2, bytes_column("parameters_bytes", "Parameters")),
          optional_column(2, bytes_column("gradients_bytes", "Gradients")),
          optional_column(2, bytes_column("optimizer_state_bytes", "Optimizer")),
          optional_column(1, bytes_column("saved_activations_bytes", "Saved")),
          optional_column(6, bytes_column("autocast_copies_bytes", "Copies")),
          optional_column(4, bytes_column("temporaries_bytes", "Temporaries")),
          optional_column(7, bytes_column("other_bytes", "Other"))};
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
  const bool fits = record.status != Status::kOutOfMemory;
  const char* const basis = held ? "measured" : fits ? "predicted" : "predicted, does not fit";
  rows_.push_back({record.name, basis, ledger.planned(),
                   trace->launch_count() == 0 ? "" : std::string(trace->launch(ledger.peak_launch()).phase),
                   peak[MemoryCategory::kParameters], peak[MemoryCategory::kGradients],
                   peak[MemoryCategory::kOptimizerState], peak[MemoryCategory::kSaved],
                   peak[MemoryCategory::kAutocastCopies], peak[MemoryCategory::kTemporaries],
                   ledger.planned() - named});
  cells_.push_back({without_pass_and_dtype(record.name),
                    fmt::format("{} {}", record.config.text("pass"), record.config.text("dtype")), ledger.planned(),
                    held, fits});
}

Grid PeakTable::points_grid() const {
  Grid grid{.name = "peaks", .title = {}, .columns = peak_columns(), .rows = rows_, .notes = {}};
  std::vector<std::string> names;
  for (const std::vector<Json>& row : rows_) names.push_back(row[0].get<std::string>());
  if (const std::string common = common_words(names); !common.empty()) {
    grid.title = "Peaks: " + common;
    grid.columns.front().shown = [common](const Json& name) { return without_words(name.get<std::string>(), common); };
  }
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
  std::vector<std::string> points;
  std::vector<std::string> passes;
  for (const Cell& cell : cells_) {
    append_new(points, cell.point);
    append_new(passes, cell.pass);
  }
  if (passes.size() < 2) return std::nullopt;
  const bool has_point_rows = points.size() >= passes.size();  // a terminal has more room for rows than for columns
  const std::vector<std::string>& rows = has_point_rows ? points : passes;
  const std::vector<std::string>& columns = has_point_rows ? passes : points;
  const std::string common = common_words(points);
  const auto title_of = [&](const std::string& text, bool is_point) {
    return is_point ? without_words(text, common) : text;
  };
  Grid grid{.name = "peaks_by_pass",
            .title = "Peaks by pass and number type" + (common.empty() ? "" : ": " + common),
            .columns = {has_point_rows ? text_column("point", "Point") : text_column("pass", "Pass")},
            .rows = {},
            .notes = {}};
  const std::optional<int64_t> too_large = least_too_large();
  for (const std::string& column : columns) {
    const std::string title = title_of(column, !has_point_rows);
    std::string key = title;
    std::replace(key.begin(), key.end(), ' ', '_');
    grid.columns.push_back(bytes_column(key + "_bytes", title));
    if (too_large) {
      grid.columns.back().shown = [too_large](const Json& bytes) {
        return format_value(bytes, Unit::kBytes) + (bytes.is_number() && bytes >= *too_large ? " *" : "");
      };
    }
  }
  for (const std::string& row : rows) {
    std::vector<Json> line(columns.size() + 1);
    line[0] = title_of(row, has_point_rows);
    for (const Cell& cell : cells_) {
      if ((has_point_rows ? cell.point : cell.pass) != row) continue;
      const std::string& column = has_point_rows ? cell.pass : cell.point;
      const auto at = std::find(columns.begin(), columns.end(), column) - columns.begin();
      line[static_cast<size_t>(at) + 1] = cell.bytes;
    }
    grid.rows.push_back(std::move(line));
  }
  if (too_large) grid.notes.emplace_back("* does not fit into the memory of the device.");
  const auto held =
      static_cast<size_t>(std::count_if(cells_.begin(), cells_.end(), [](const Cell& cell) { return cell.is_held; }));
  if (held == 0) grid.notes.emplace_back("All predicted from the plan.");
  if (held > 0 && held < cells_.size())
    grid.notes.emplace_back("Some are predicted from the plan: column Basis of the table above.");
  return grid;
}

std::optional<int64_t> PeakTable::least_too_large() const {
  std::optional<int64_t> least;
  for (const Cell& cell : cells_) {
    if (!cell.fits && (!least || cell.bytes < *least)) least = cell.bytes;
  }
  const bool larger_one_fits = std::any_of(
      cells_.begin(), cells_.end(), [&](const Cell& cell) { return cell.fits && least && cell.bytes >= *least; });
  return larger_one_fits ? std::nullopt : least;
}

PointReport PeakTable::report() const {
  PointReport report{"peaks of " + counted(rows_.size(), "point"), {}, {}};
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
