// The peaks of several points: one row per point, or a grid of passes and number types against the rest of
// the points' names.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
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

int64_t peak_of(const Record& record) {
  return record.memory.predicted_peak_bytes.value_or(record.memory.peak_bytes.value_or(0));
}

std::string limit_words(const std::vector<const Record*>& records) {
  constexpr double kMoments = 0.05;  // limits of points that differ by at most this fraction count as equal
  std::optional<UsableMemory> least;
  int64_t most = 0;
  for (const Record* const record : records) {
    const auto usable = usable_memory(*record);
    if (!usable) continue;
    if (!least || usable->bytes < least->bytes) least = usable;
    most = std::max(most, usable->bytes);
  }
  if (!least || static_cast<double>(most - least->bytes) > kMoments * static_cast<double>(most)) return "";
  Json values;
  add_usable(least, values);
  return usable_words({.kind = "memory_peak", .values = std::move(values)});
}

}  // namespace

MemoryPeaks::MemoryPeaks(std::string_view order) : order_(order) {
  table_ = {.name = "peaks",
            .columns = columns_from(
                "<point=point; <basis=basis@6; peak_bytes=peak; <phase=in@5; parameters_bytes=parameters@2; "
                "gradients_bytes=gradients@2; optimizer_state_bytes=optimizer@2; saved_activations_bytes=saved@1; "
                "autocast_copies_bytes=copies@3; temporaries_bytes=temporaries@4; other_bytes=other@7")};
  if (!order.empty()) row_order(table_, order, false);  // rejects an unknown column
}

void MemoryPeaks::add(const Record& record, const std::optional<StepTrace>& trace) {
  Record& known = records_.emplace_back(record);
  std::vector<TableCell>& cells = table_.rows.emplace_back().cells;
  cells.resize(table_.columns.size());
  cells[0] = record.name;
  cells[1] = name_of(record.status);
  if (!trace) return;
  const MemoryLedger ledger(record, *trace);
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
  PointAnswer answer{.name = fmt::format("peaks of {} points", records_.size())};
  Table table = table_;
  const std::string common = common_words(records_, [](const Record& record) { return record.name; });
  std::vector<const Record*> records;
  for (size_t i = 0; i < records_.size(); ++i) {
    table.rows[i].cells.front().text = spoken_name(records_[i].name, common);
    if (!table.rows[i].cells[2].value.is_null()) records.push_back(&records_[i]);
  }
  for (size_t i = 4; i < table.columns.size(); ++i) {  // omit columns that are zero everywhere
    const bool is_empty = std::ranges::all_of(
        table.rows, [&](const TableRow& row) { return row.cells[i].value.is_null() || row.cells[i].value == 0; });
    if (is_empty) table.columns[i].for_people = false;
  }
  if (!order_.empty())
    table.rows = mapped(row_order(table, order_, false), [&](size_t row) { return std::move(table.rows[row]); });
  if (!records.empty()) {
    const size_t large = std::ranges::count(records, Status::kOutOfMemory, &Record::status);
    const std::string limit = limit_words(records);
    const auto [least, most] =
        std::ranges::minmax_element(records, {}, [](const Record* one) { return peak_of(*one); });
    answer.say(fmt::format("peaks of {} to {}; {}{}", brief_bytes(peak_of(**least)), brief_bytes(peak_of(**most)),
                           large == 0 ? fmt::format("all {} fit", records.size())
                                      : fmt::format("{} of {} fit", records.size() - large, records.size()),
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
  std::map<std::pair<std::string, std::string>, const Record*> known;  // keyed by point and pass
  for (const Record* const record : records) {
    const std::pair place(without_pass_and_dtype(record->name),
                          fmt::format("{} {}", record->config.text("pass"), record->config.text("dtype")));
    if (!is_among(place.first, points)) points.push_back(place.first);
    if (!is_among(place.second, passes)) passes.push_back(place.second);
    known.emplace(place, record);
  }
  if (passes.size() < 2) return std::nullopt;
  const bool are_points_rows = points.size() >= passes.size();  // a terminal has more room for rows than for columns
  const std::vector<std::string>& rows = are_points_rows ? points : passes;
  const std::vector<std::string>& columns = are_points_rows ? passes : points;
  const std::string common = common_words(points);
  const auto cell_of = [&](const std::string& text, bool is_point) {
    return is_point ? TableCell(without_words(text, common), spoken_name(text, common)) : TableCell(text, text);
  };
  Table table{.name = "peaks_by_pass",
              .columns = {text_of_rows(are_points_rows ? "point" : "pass", spoken_name(common))}};
  for (const std::string& column : columns) {
    const TableCell cell = cell_of(column, !are_points_rows);
    std::string key = cell.value.text();
    std::ranges::replace(key, ' ', '_');
    table.columns.push_back({.key = key + "_bytes", .title = cell.text, .unit = Unit::kBytes});
  }
  for (const std::string& row : rows) {
    std::vector<TableCell> line{cell_of(row, are_points_rows)};
    for (const std::string& column : columns) {
      const auto* const record = at_key(known, are_points_rows ? std::pair(row, column) : std::pair(column, row));
      TableCell& cell = line.emplace_back();
      if (record == nullptr) continue;
      cell.value = peak_of(**record);
      if ((*record)->status != Status::kOutOfMemory) continue;
      cell.text = brief_bytes(peak_of(**record)) + " *";
      table.notes = {"* does not fit"};
    }
    table.add(std::move(line));
  }
  return table;
}

}  // namespace laptime
