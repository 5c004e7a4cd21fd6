// The grid of peaks: points down, passes and number types across, or the other way round.
#include "report/memory/peak_grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/available_memory.h"
#include "base/error.h"
#include "base/units.h"
#include "config/run_config.h"
#include "record/metrics.h"
#include "report/point_names.h"
#include "report/row.h"

namespace laptime {
namespace {

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

// Whether --memory-limit, and not the available memory, decides that a step may use `bytes`.
bool is_memory_limit(const Record& record, int64_t bytes) {
  const std::string limit = record.config.text("memory_limit");
  if (limit.empty() || limit == "null") return false;
  try {
    return parse_bytes("memory_limit", limit) == bytes;
  } catch (const Error&) {
    return false;  // a store may hold any text
  }
}

}  // namespace

std::string usable_bytes_text(int64_t bytes) { return format_bytes(bytes) + " that the step may use"; }

std::string usable_bytes_text(const Record& record) {
  const int64_t bytes = *record.bytes_available;
  std::string text = usable_bytes_text(bytes);
  if (!is_predicted(record)) return text;  // a run may have found less than its plan did
  if (is_memory_limit(record, bytes)) return text + " (--memory-limit)";
  return text + fmt::format(" ({:.0f} % of {})", 100 * kUsableFraction,
                            format_bytes(std::llround(static_cast<double>(bytes) / kUsableFraction)));
}

void PeakGrid::add(const Record& record, int64_t bytes, bool is_held) {
  cells_.push_back({without_pass_and_dtype(record.name),
                    fmt::format("{} {}", record.config.text("pass"), record.config.text("dtype")), bytes, is_held,
                    record.status != Status::kOutOfMemory});
  append_new(batches_, record.config.text("batch_size"));
  if (record.bytes_available) limits_.push_back({*record.bytes_available, usable_bytes_text(record)});
}

std::optional<std::string> PeakGrid::limit_text() const {
  constexpr double kMoments = 0.05;
  if (limits_.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(limits_.begin(), limits_.end(),
                                                 [](const Limit& a, const Limit& b) { return a.bytes < b.bytes; });
  const bool is_same = static_cast<double>(most->bytes - least->bytes) <= kMoments * static_cast<double>(most->bytes);
  return is_same ? std::optional(least->text) : std::nullopt;
}

// "batch 4", where the points have one and no name says it.
std::string PeakGrid::batch_text() const {
  const bool is_named = std::any_of(cells_.begin(), cells_.end(),
                                    [](const Cell& cell) { return cell.point.find("batch:") != std::string::npos; });
  return batches_.size() != 1 || batches_.front().empty() || is_named ? "" : fmt::format("batch {}", batches_.front());
}

size_t PeakGrid::held() const {
  return static_cast<size_t>(
      std::count_if(cells_.begin(), cells_.end(), [](const Cell& cell) { return cell.is_held; }));
}

std::optional<Grid> PeakGrid::grid() const {
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
  std::vector<std::string> titles;
  for (const std::string& text : {common, batch_text()}) {
    if (!text.empty()) titles.push_back(text);
  }
  Grid grid{
      .name = "peaks_by_pass",
      .title = fmt::format("Peaks by pass and number type{}{}", titles.empty() ? "" : ": ", fmt::join(titles, ", ")),
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
  const std::optional<std::string> usable = limit_text();
  if (too_large) {
    grid.notes.push_back(fmt::format("* does not fit into the {}.", usable ? *usable : "memory of the device"));
  } else if (usable) {
    grid.notes.push_back(fmt::format("All fit into the {}.", *usable));
  }
  if (held() == 0) grid.notes.emplace_back("All predicted from the plan.");
  return grid;
}

std::optional<int64_t> PeakGrid::least_too_large() const {
  std::optional<int64_t> least;
  for (const Cell& cell : cells_) {
    if (!cell.fits && (!least || cell.bytes < *least)) least = cell.bytes;
  }
  const bool larger_one_fits = std::any_of(
      cells_.begin(), cells_.end(), [&](const Cell& cell) { return cell.fits && least && cell.bytes >= *least; });
  return larger_one_fits ? std::nullopt : least;
}

}  // namespace laptime
