// Table: columns of values with units, and rows. Terminal text, Markdown, CSV and JSON are functions of it.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/key.h"
#include "table/text.h"
#include "table/value_text.h"

namespace laptime {

enum class Align : uint8_t { kLeft, kRight };

struct TableColumn {
  std::string key;      // of CSV and JSON, with its unit: "median_s"
  std::string title{};  // for people; may be empty
  Unit unit = Unit::kNone;
  Align align = Align::kRight;
  int drop = 0;          // a narrow terminal drops the highest first, of equal ranks the last; 0 always stays
  size_t width = 0;      // at least; a GrowingTable needs the width of the cells to come
  bool for_data = true;  // has a place in CSV and JSON
  bool for_people = true;
};

// A column of texts.
inline TableColumn text_of_rows(std::string key, std::string title, int drop = 0) {
  return {.key = std::move(key), .title = std::move(title), .align = Align::kLeft, .drop = drop};
}

struct TableCell {
  Json value = nullptr;    // null: none
  std::string text{};      // for people; empty: the value in the unit of its column, leading spaces indent
  double uncertainty = 0;  // half the 95 % interval as a fraction of the value; rounds the text (value_text)

  TableCell() = default;
  TableCell(Json value, std::string text, double uncertainty = 0)
      : value(std::move(value)), text(std::move(text)), uncertainty(uncertainty) {}
  template <class Value>
  requires std::constructible_from<Json, Value> &&(!std::same_as<std::remove_cvref_t<Value>, TableCell>)
      TableCell(Value&& value)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload): a value
      : value(std::forward<Value>(value)) {}
  template <class Value>
  TableCell(const std::optional<Value>& value)  // NOLINT(google-explicit-constructor): a value or null
      : value(value ? Json(*value) : Json(nullptr)) {}
};

struct TableRow {
  std::vector<TableCell> cells;  // one for each column; where `remark` takes the place of the last ones, fewer
  std::string remark{};          // text for people behind the cells: "fastest", or why a row has no values
  std::string heading{};         // a line before the row, which begins a group
};

struct Table {
  std::string name{};   // in JSON and CSV: "kernels"
  std::string title{};  // a line above the table; may be empty
  std::vector<TableColumn> columns{};
  std::vector<TableRow> rows{};
  std::vector<std::string> notes{};  // lines below the table
  bool with_header = true;           // for people

  void add(std::vector<TableCell> cells) { rows.push_back({.cells = std::move(cells)}); }
};

// Terminal text. Columns have one unit each. Where a line would be wider than the terminal, titles are broken at
// spaces, then columns are dropped by rank, then the widest texts are shortened, and if nothing else helps, the last
// columns stand on further lines.
std::string text_of(const Table& table, const TextStyle& style);

// GitHub's dialect. The unit of a column stands in its header.
std::string markdown_of(const Table& table);

// RFC 4180, a header of keys first. Numbers are exact, null is an empty cell; title, notes and remarks are left out.
std::string csv_of(const Table& table);

// A line of such a file.
std::string csv_line(std::span<const Json> values);

// [{key: value, ...}, ...]
Json json_of(const Table& table);

// For the page: {"name", "title", "columns": [{"key", "title", "unit", "align"}, ...], "rows": [[value, ...], ...],
// "texts": [[text, ...], ...], "remarks", "headings", "notes"}. `unit` is the scaled one of the texts ("ms"), "" for
// none.
Json described_json(const Table& table);

// Whether people see a column. One that has a rank or no title is left out where no row has a value in it.
bool is_shown(const Table& table, size_t column);

// The cell as people read it, with its unit.
std::string cell_text(const TableCell& cell, const TableColumn& column, std::optional<Scale> scale = std::nullopt);

// A table on a terminal whose rows are printed as they come. Widths follow from the columns, the rows expected and the
// first row; wider text is not cut. The first row with a value decides about the unit of a column.
class GrowingTable {
 public:
  // Of `table`, title and columns count; its rows are an example of those to come and are not printed.
  GrowingTable(const Table& table, const TextStyle& style);

  // Whole lines; title and header before the first row.
  std::string add(const TableRow& row);

 private:
  // A column that is shown.
  struct Place {
    size_t column;
    size_t width;
    bool is_cut = false;       // longer texts are shortened
    bool starts_line = false;  // stands on a further line, with the columns after it
  };
  using Texts = std::vector<std::vector<std::string>>;  // of each row, of each column

  void choose_scales();
  Texts texts() const;
  std::vector<std::string> texts_of(const TableRow& row) const;
  void lay_out();
  size_t needed() const;
  bool drop_column();
  void shorten();
  void fold();
  std::string header() const;
  std::string line(const std::vector<std::string>& texts, size_t count, const std::string& remark) const;

  Table table_;
  TextStyle style_;
  std::vector<Place> places_;
  std::vector<std::optional<Scale>> scales_;  // of each column, once it has a value
  bool begun_ = false;
};

}  // namespace laptime
