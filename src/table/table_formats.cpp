// Markdown, CSV and JSON of a table.
#include <algorithm>
#include <cmath>

#include "table/table.h"

namespace laptime {
namespace {

// Leading spaces become an indent that Markdown preserves.
std::string markdown_cell(std::string_view text) {
  const size_t indent = std::min(text.find_first_not_of(' '), text.size());
  std::string spaces;
  for (size_t k = 0; k < indent; k += 2) spaces += "&emsp;";
  return spaces + markdown_escaped(text.substr(indent));
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += " " + cell + " |";
  return text + "\n";
}

// The text of a cell, without the unit if the column's title states it.
std::string text_below_title(const TableCell& cell, const TableColumn& column, const std::optional<Scale>& scale) {
  if (!cell.text.empty() || !cell.value.is_number() || !scale || column.title.empty())
    return cell_text(cell, column, scale);
  return number_text(cell.value.get<double>(), column.unit, *scale, cell.uncertainty);
}

Json value_at(const TableRow& row, size_t column) {
  return column < row.cells.size() ? row.cells[column].value : Json(nullptr);
}

}  // namespace

std::string markdown_of(const Table& table) {
  const std::vector<std::optional<Scale>> scales = scales_of(table);
  std::string text = table.title.empty() ? "" : markdown_escaped(table.title) + "\n\n";
  std::vector<std::string> titles;
  std::vector<std::string> rules;
  const bool has_remarks = !std::ranges::all_of(table.rows, &std::string::empty, &TableRow::remark);
  std::vector<bool> shown;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const TableColumn& column = table.columns[i];
    shown.push_back(is_shown(table, i));
    if (!shown[i]) continue;
    const std::string unit = scales[i] ? ", " + std::string(scales[i]->name) : "";
    titles.push_back(markdown_escaped(column.title + (column.title.empty() ? "" : unit)));
    rules.emplace_back(column.align == Align::kLeft ? "---" : "--:");
  }
  if (has_remarks) {
    titles.emplace_back();
    rules.emplace_back("---");
  }
  text += markdown_row(titles) + markdown_row(rules);
  for (const TableRow& row : table.rows) {
    std::vector<std::string> cells;
    if (!row.heading.empty()) {
      std::vector<std::string> heading(titles.size());
      heading.front() = "**" + markdown_escaped(row.heading) + "**";
      text += markdown_row(heading);
    }
    for (size_t i = 0; i < row.cells.size(); ++i) {
      if (shown[i]) cells.push_back(markdown_cell(text_below_title(row.cells[i], table.columns[i], scales[i])));
    }
    if (!row.remark.empty()) cells.push_back(markdown_escaped(row.remark));
    cells.resize(titles.size());
    text += markdown_row(cells);
  }
  for (const std::string& note : table.notes) text += "\n" + markdown_escaped(note) + "\n";
  return text;
}

std::string csv_line(std::span<const Json> values) {
  std::string text;
  for (const Json& value : values) {
    if (&value != &values.front()) text += ',';
    if (value.is_null() || (value.is_number_float() && !std::isfinite(value.get<double>()))) continue;
    text += value.is_string() ? csv_text(value.text()) : csv_quoted(value.dump());
  }
  return text + "\r\n";
}

std::string csv_of(const Table& table) {
  std::vector<Json> cells;
  for (const TableColumn& column : table.columns) {
    if (column.for_data) cells.emplace_back(column.key);
  }
  std::string text = csv_line(cells);
  for (const TableRow& row : table.rows) {
    cells.clear();
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].for_data) cells.push_back(value_at(row, i));
    }
    text += csv_line(cells);
  }
  return text;
}

Json json_of(const Table& table) {
  Json rows = Json::array();
  for (const TableRow& row : table.rows) {
    Json& object = rows.emplace_back(Json::object());
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].for_data) object[table.columns[i].key] = value_at(row, i);
    }
  }
  return rows;
}

}  // namespace laptime
