// Grid: a titled table of values, and its text, Markdown, CSV and JSON.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/key.h"
#include "record/json_object.h"
#include "report/record_table.h"

namespace laptime {

struct GridColumn {
  std::string key;    // of CSV and JSON, with the unit: "mean_s"
  std::string title;  // for people: "Mean"
  Unit unit = Unit::kNone;
  bool text = false;  // flush left; leading spaces indent a tree
  // Above 0: left out of text where no row has a value, and where a terminal is too narrow, the highest first, of equal
  // ones the last.
  int optional = 0;
  std::function<std::string(const Json& value)> shown = {};  // the cell for people; null: the value in its unit
  bool whole = false;  // of the first column: a text that is too long has a line to itself and is not shortened
};

GridColumn text_column(std::string key, std::string title);   // flush left
GridColumn bytes_column(std::string key, std::string title);  // of bytes
GridColumn optional_column(int rank, GridColumn column);      // left out as GridColumn::optional says
GridColumn whole_column(GridColumn column);                   // never shortened, as GridColumn::whole says

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

struct Grid {
  std::string name;   // of the table in JSON: "kernels"
  std::string title;  // a line above the table; may be empty
  std::vector<GridColumn> columns;
  std::vector<std::vector<Json>> rows;  // a value or null for each column
  std::vector<std::string> notes;       // lines below the table
  // What people see in place of the rows: lines that end in a line break. Null: the rows.
  std::function<std::string(const TableStyle& style)> picture = {};
};

// What is shown of one point of a sweep.
struct PointReport {
  std::string name;                // of the record
  std::vector<std::string> lines;  // sentences above the tables, the conclusion first
  std::vector<Grid> grids;
  std::string verdict{};  // of JSON, "disturbed"; empty where none is given
};

// Aligned columns. Where a terminal is too narrow, optional columns are left out, then texts of a whole first column
// have a line to themselves and rows go on in further lines; where there is no such column, the widest one of text is
// shortened. The titles of columns that were left out are added to `left_out`, each once.
std::string grid_text(const Grid& grid, const TableStyle& style, std::vector<std::string>* left_out = nullptr);
std::string grid_markdown(const Grid& grid);
// Numbers exact and without units. Title and notes are left out.
std::string grid_csv(const Grid& grid);
// {"title": ..., "rows": [{key: value, ...}, ...], "notes": [...]}
Json grid_json(const Grid& grid);

}  // namespace laptime
