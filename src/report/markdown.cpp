// Markdown tables and their escapes.
#include "report/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "report/lines.h"
#include "report/table_notes.h"
#include "table/text.h"

namespace laptime {
namespace {

std::string row_text(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += " " + cell + " |";
  return text + "\n";
}

}  // namespace

std::string markdown_table(const std::vector<Cells>& rows, const std::vector<bool>& right) {
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    Cells cells;
    for (const std::string& cell : rows[i]) {
      const size_t indent = std::min(cell.find_first_not_of(' '), cell.size());
      std::string spaces;
      for (size_t k = 0; k < indent; k += 2) spaces += "&emsp;";
      cells.push_back(spaces + markdown_escaped(cell.substr(indent)));
    }
    text += row_text(cells);
    if (i > 0) continue;
    Cells rules;
    for (size_t k = 0; k < cells.size(); ++k) rules.emplace_back(k < right.size() && right[k] ? "--:" : "---");
    text += row_text(rules);
  }
  return text;
}

std::string markdown(std::span<const Record> records, std::string_view column_list) {
  std::string text;
  markdown(RecordList(records), column_list, [&](std::string_view more) { text += more; });
  return text;
}

namespace {

// The unit of each column, from the geometric mean of its values; none for columns without multiples of a unit.
std::vector<std::optional<Scale>> scales_of(const Records& records, const std::vector<Column>& columns) {
  std::vector<double> logarithms(columns.size());
  std::vector<int64_t> counts(columns.size());
  records.each(extent_of_columns(columns, /*details=*/true), [&](const Record& record) {
    for (size_t i = 0; i < columns.size(); ++i) {
      const Json value = columns[i].read(Row(record), "");
      if (!value.is_number() || value.get<double>() == 0) continue;
      logarithms[i] += std::log(std::fabs(value.get<double>()));
      ++counts[i];
    }
    return true;
  });
  std::vector<std::optional<Scale>> scales(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    if (counts[i] == 0) continue;
    scales[i] = scale_of(std::exp(logarithms[i] / static_cast<double>(counts[i])), columns[i].unit);
  }
  return scales;
}

}  // namespace

void markdown(const Records& records, std::string_view column_list, const TextSink& sink, std::string_view store) {
  Heading heading(records);
  Baselines baselines;
  std::vector<Column> columns = columns_of(column_list, baselines, records);
  plan_baselines(columns, records, baselines);
  add_baselines(columns, records, baselines);
  name_rows(columns, heading, records);
  mark_rows(columns, heading);
  heading.share(take_shared(columns, records));
  const std::vector<std::optional<Scale>> scales = scales_of(records, columns);

  records.each(Extent::kWhole, [&](const Record& first) {
    std::string text;
    for (const std::string& line : heading.lines(first)) text += markdown_escaped(line) + "\n\n";
    sink(text);
    return false;
  });
  std::vector<std::string> titles;
  std::vector<std::string> rules;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string unit = scales[i] ? fmt::format(", {}", scales[i]->name) : "";
    titles.push_back(markdown_escaped(columns[i].header() + unit));
    rules.emplace_back(columns[i].text ? "---" : "--:");
  }
  sink(row_text(titles) + row_text(rules));
  const LineStyle style{.heading = &heading, .scales = scales};
  std::string notes;
  TableNotes below(columns, !are_many(records), baselines, store);
  records.each(std::max(extent_of_columns(columns, /*details=*/true), below.extent()), [&](const Record& record) {
    below.add(record, heading);
    for (const TableLine& line : lines_of(Row(record), columns, style)) {
      if (line.cells.empty()) continue;  // notes on set-up and the like; reasons follow below
      std::vector<std::string> cells;
      for (const std::string& cell : line.cells) cells.push_back(markdown_escaped(cell));
      if (line.of_phase) cells.front() = "&emsp;" + cells.front().substr(cells.front().find_first_not_of(' '));
      if (!line.rest.empty()) cells.push_back(markdown_escaped(line.rest));
      cells.resize(std::max(cells.size(), columns.size()));
      sink(row_text(cells));
    }
    const bool has_reason = std::any_of(columns.begin(), columns.end(), [](const Column& c) { return c.then_reason; });
    if (record.status == Status::kOk || has_reason) return true;
    notes += "- " + markdown_escaped(record.label.empty() ? record.name : record.label) + ": " +
             markdown_escaped(std::string(name_of(record.status)) + ": " + reason_of(record)) + "\n";
    return true;
  });
  for (const std::string& line : below.lines()) notes += "- " + markdown_escaped(line) + "\n";
  if (!notes.empty()) sink("\n" + notes);
}

}  // namespace laptime
