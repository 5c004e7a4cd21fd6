// The peaks of several points: a row for each, or passes against the rest of their names.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/words.h"
#include "report/columns.h"
#include "report/memory_answer.h"
#include "report/names.h"
#include "report/words.h"

namespace laptime {
namespace {

// The name of a point without its pass and number type: "step/model:small/dtype:float32/mode:eager" ->
// "model:small/mode:eager".
std::string without_pass_and_dtype(std::string_view name) {
  std::vector<std::string_view> words = words_in(name);
  if (!words.empty()) words.erase(words.begin());
  std::erase_if(words, [](std::string_view word) { return word.starts_with("dtype:"); });
  return joined(words, "/");
}

void append_new(std::vector<std::string>& words, const std::string& word) {
  if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
}

int64_t peak_of(const Record& record) {
  return record.memory.predicted_peak_bytes.value_or(record.memory.peak_bytes.value_or(0));
}

// The limit of all points, in words; none where they differ by more than the available memory does from moment to
// moment.
std::string limit_words(const std::vector<const Record*>& records) {
  constexpr double kMoments = 0.05;
  std::optional<UsableMemory> least;
  int64_t most = 0;
  for (const Record* const record : records) {
    const auto usable = usable_memory(*record);
    if (!usable) continue;
    if (!least || usable->bytes < least->bytes) least = usable;
    most = std::max(most, usable->bytes);
  }
  if (!least || static_cast<double>(most - least->bytes) > kMoments * static_cast<double>(most)) return "";
  Json values{{"available_bytes", least->bytes}, {"is_limit", least->is_limit}};
  if (least->whole) values["whole_bytes"] = *least->whole;
  return usable_words({.kind = "memory_peak", .subject = {}, .values = std::move(values)});
}

// The smallest peak that does not fit; none where everything fits, or where a larger peak fits another device.
std::optional<int64_t> least_too_large(const std::vector<const Record*>& records) {
  std::optional<int64_t> least;
  for (const Record* const record : records) {
    if (record->status == Status::kOutOfMemory && (!least || peak_of(*record) < *least)) least = peak_of(*record);
  }
  const bool larger_one_fits = std::any_of(records.begin(), records.end(), [&](const Record* record) {
    return record->status != Status::kOutOfMemory && least && peak_of(*record) >= *least;
  });
  return larger_one_fits ? std::nullopt : least;
}

std::vector<TableColumn> peak_columns() {
  return columns_from(
      "<point=point; <basis=basis@6; peak_bytes=peak; <phase=in@5; parameters_bytes=parameters@2; "
      "gradients_bytes=gradients@2; optimizer_state_bytes=optimizer@2; saved_activations_bytes=saved@1; "
      "autocast_copies_bytes=copies@3; temporaries_bytes=temporaries@4; other_bytes=other@7");
}

}  // namespace

MemoryPeaks::MemoryPeaks(std::string_view order) : order_(order) {
  if (!order.empty()) TableOrder(Table{.name = "peaks", .columns = peak_columns()}, order, false);
}

void MemoryPeaks::add(const Record& record, const std::optional<StepTrace>& trace) {
  Record& known = records_.emplace_back(record);
  std::vector<TableCell>& cells = rows_.emplace_back(peak_columns().size());
  cells[0] = record.name;
  cells[1] = name_of(record.status);
  if (!trace) return;
  const MemoryLedger ledger(*trace);
  constexpr std::array kNamed{MemoryCategory::kParameters,     MemoryCategory::kGradients,
                              MemoryCategory::kOptimizerState, MemoryCategory::kSaved,
                              MemoryCategory::kAutocastCopies, MemoryCategory::kTemporaries};
  const bool fits = record.status != Status::kOutOfMemory;
  cells[1] = was_held(record) ? "measured" : fits ? "predicted" : "does not fit";
  cells[2] = ledger.planned();
  if (trace->launch_count() > 0) cells[3] = trace->launch(ledger.peak_launch()).phase;
  int64_t other = ledger.planned();
  for (size_t i = 0; i < kNamed.size(); ++i) {
    cells[4 + i] = ledger.peak()[kNamed.at(i)];
    other -= ledger.peak()[kNamed.at(i)];
  }
  cells.back() = other;
  if (!known.memory.predicted_peak_bytes) known.memory.predicted_peak_bytes = ledger.planned();
}

PointAnswer MemoryPeaks::answer() const {
  PointAnswer answer{.name = fmt::format("peaks of {} points", rows_.size())};
  Table table{.name = "peaks", .columns = peak_columns()};
  std::vector<std::string> names;
  std::vector<const Record*> records;
  for (size_t i = 0; i < rows_.size(); ++i) {
    names.push_back(records_[i].name);
    if (!rows_[i][2].value.is_null()) records.push_back(&records_[i]);
  }
  const std::string common = common_words(names);
  for (size_t i = 0; i < rows_.size(); ++i) {
    table.add(rows_[i]);
    table.rows.back().cells.front().text = spoken_name(names[i], common);
  }
  for (size_t i = 4; i < table.columns.size(); ++i) {  // a column without bytes says nothing
    const bool is_empty = std::all_of(table.rows.begin(), table.rows.end(), [&](const TableRow& row) {
      return row.cells[i].value.is_null() || row.cells[i].value == 0;
    });
    if (is_empty) table.columns[i].for_people = false;
  }
  if (!order_.empty()) {
    std::vector<TableRow> rows;
    for (const size_t row : row_order(table, TableOrder(table, order_, false)))
      rows.push_back(std::move(table.rows[row]));
    table.rows = std::move(rows);
  }
  if (!records.empty()) {
    const auto fitting = static_cast<size_t>(std::count_if(
        records.begin(), records.end(), [](const Record* record) { return record->status != Status::kOutOfMemory; }));
    const std::string limit = limit_words(records);
    const auto [least, most] = std::minmax_element(
        records.begin(), records.end(), [](const Record* a, const Record* b) { return peak_of(*a) < peak_of(*b); });
    answer.say(fmt::format("peaks of {} to {}; {}{}", brief_bytes(peak_of(**least)), brief_bytes(peak_of(**most)),
                           fitting == records.size() ? fmt::format("all {} fit", fitting)
                                                     : fmt::format("{} of {} fit", fitting, records.size()),
                           limit.empty() ? "" : " into " + limit));
  }
  std::optional<Table> by_pass = peaks_by_pass(records);
  by_pass&& order_.empty() ? answer.keep(std::move(table)) : answer.show(std::move(table));
  if (by_pass) order_.empty() ? answer.show(std::move(*by_pass)) : answer.keep(std::move(*by_pass));
  return answer;
}

std::optional<Table> peaks_by_pass(const std::vector<const Record*>& records) {
  std::vector<std::string> points;
  std::vector<std::string> passes;
  const auto pass_of = [](const Record& record) {
    return fmt::format("{} {}", record.config.text("pass"), record.config.text("dtype"));
  };
  for (const Record* const record : records) {
    append_new(points, without_pass_and_dtype(record->name));
    append_new(passes, pass_of(*record));
  }
  if (passes.size() < 2) return std::nullopt;
  const bool has_point_rows = points.size() >= passes.size();  // a terminal has more room for rows than for columns
  const std::string common = common_words(points);
  const auto title_of = [&](const std::string& text, bool is_point) {
    return is_point ? spoken_name(text, common) : text;
  };
  Table table{.name = "peaks_by_pass",
              .columns = {text_of_rows(has_point_rows ? "point" : "pass", spoken_name(common))}};
  const std::optional<int64_t> too_large = least_too_large(records);
  for (const std::string& column : has_point_rows ? passes : points) {
    std::string key = has_point_rows ? column : without_words(column, common);
    std::replace(key.begin(), key.end(), ' ', '_');
    table.columns.push_back({.key = key + "_bytes", .title = title_of(column, !has_point_rows), .unit = Unit::kBytes});
  }
  for (const std::string& row : has_point_rows ? points : passes) {
    std::vector<TableCell> line(table.columns.size());
    line[0] = TableCell(has_point_rows ? without_words(row, common) : row, title_of(row, has_point_rows));
    for (const Record* const record : records) {
      const std::string point = without_pass_and_dtype(record->name);
      const std::string pass = pass_of(*record);
      if ((has_point_rows ? point : pass) != row) continue;
      const std::vector<std::string>& columns = has_point_rows ? passes : points;
      const auto at = std::find(columns.begin(), columns.end(), has_point_rows ? pass : point) - columns.begin();
      const int64_t bytes = peak_of(*record);
      TableCell cell(bytes);
      if (too_large && bytes >= *too_large) cell.text = brief_bytes(bytes) + " *";
      line[static_cast<size_t>(at) + 1] = std::move(cell);
    }
    table.add(std::move(line));
  }
  if (too_large) table.notes.emplace_back("* does not fit");
  return table;
}

}  // namespace laptime
