// Table: columns of values with units, and rows. Terminal text, Markdown, CSV and JSON are derived from it.
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
  std::string key;      // key in CSV and JSON, with its unit: "median_s"
  std::string title{};  // for people; may be empty
  Unit unit = Unit::kNone;
  Align align = Align::kRight;
  int drop = 0;          // a narrow terminal first drops columns with the largest `drop`; 0: never dropped
  size_t width = 0;      // minimum width, so that a GrowingTable leaves room for later cells
  bool for_data = true;  // included in CSV and JSON
  bool for_people = true;
};

// A left-aligned column without a unit.
inline TableColumn text_of_rows(std::string key, std::string title) {
  return {.key = std::move(key), .title = std::move(title), .align = Align::kLeft};
}

struct TableCell {
  Json value = nullptr;    // null: no value
  std::string text{};      // for people; leading spaces indent it; empty: the value in the column's unit
  double uncertainty = 0;  // relative half-width of the 95 % interval; sets the digits shown (value_text)

  TableCell() = default;
  TableCell(Json value, std::string text, double uncertainty = 0)
      : value(std::move(value)), text(std::move(text)), uncertainty(uncertainty) {}
  template <class Value>
  requires std::constructible_from<Json, Value> &&(!std::same_as<std::remove_cvref_t<Value>, TableCell>)
      TableCell(Value&& value)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload): implicit
      : value(std::forward<Value>(value)) {}
  template <class Value>
  TableCell(const std::optional<Value>& value)  // NOLINT(google-explicit-constructor): implicit
      : value(value ? Json(*value) : Json(nullptr)) {}
};

struct TableRow {
  std::vector<TableCell> cells;  // one per column; fewer if `remark` replaces the last ones
  std::string remark{};          // for people, after the cells: "fastest", or why the row has no values
  std::string heading{};         // a line above the row; empty unless the row starts a group
};

struct Table {
  std::string name{};   // name in JSON and CSV: "kernels"
  std::string title{};  // a line above the table; may be empty
  std::vector<TableColumn> columns{};
  std::vector<TableRow> rows{};
  std::vector<std::string> notes{};  // lines below the table
  bool with_header = true;           // whether people see a header line

  void add(std::vector<TableCell> cells) { rows.push_back({.cells = std::move(cells)}); }
};

// Terminal text. Each column has one unit, except for values that are too large for it. If a line would be wider than
// the terminal, titles are broken at spaces, then columns are dropped (TableColumn::drop), then the widest texts are
// shortened, and as a last resort the last columns move to further lines.
std::string text_of(const Table& table, const TextStyle& style);

// GitHub-flavoured Markdown. The header states a column's unit.
std::string markdown_of(const Table& table);

// CSV (RFC 4180) with a header of keys. Numbers are exact, and null is an empty cell; omits title, notes and remarks.
std::string csv_of(const Table& table);

// One line of a CSV file, with its line break.
std::string csv_line(std::span<const Json> values);

// The rows as [{key: value, ...}, ...].
Json json_of(const Table& table);

// The scale in which each column is shown to people, if it has values.
std::vector<std::optional<Scale>> scales_of(const Table& table);

// Whether people see a column. A column that may be dropped or has no title is omitted if all its cells are empty.
bool is_shown(const Table& table, size_t column);

// The cell as shown to people, with its unit.
std::string cell_text(const TableCell& cell, const TableColumn& column, std::optional<Scale> scale = std::nullopt);

// A table on a terminal whose rows are printed incrementally. Widths depend on the columns, the expected rows and the
// first row; wider text in later rows is cut only in columns that had to be shortened. A column's scale depends on the
// values in these rows or, if they have none, on the first later value.
class GrowingTable {
 public:
  // Uses the title, the columns and `with_header` of `table`; its rows are examples of future rows and are not printed.
  GrowingTable(const Table& table, const TextStyle& style);

  // Returns the row as complete lines, after the title and header if it is the first row.
  std::string add(const TableRow& row);

 private:
  // A visible column, and how it is laid out.
  struct Place {
    size_t column;
    size_t width;
    bool is_cut = false;       // longer texts are shortened
    bool starts_line = false;  // moves to a further line, together with the columns after it
  };

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
  std::vector<std::optional<Scale>> scales_;  // scale of each column, once it has a value
  bool begun_ = false;
};

}  // namespace laptime
