// Grid: a titled table of values, and its text, Markdown, CSV and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/key.h"
#include "record/json_object.h"
#include "report/table.h"

namespace laptime {

struct GridColumn {
  std::string key;    // of CSV and JSON, with the unit: "mean_s"
  std::string title;  // for people: "Mean"
  Unit unit = Unit::kNone;
  bool text = false;  // flush left; leading spaces indent a tree
};

struct Grid {
  std::string name;   // of the table in JSON: "kernels"
  std::string title;  // a line above the table; may be empty
  std::vector<GridColumn> columns;
  std::vector<std::vector<Json>> rows;  // a value or null for each column
  std::vector<std::string> notes;       // lines below the table
};

// What is shown of one point of a sweep.
struct PointReport {
  std::string name;                // of the record
  std::vector<std::string> lines;  // sentences above the tables, the conclusion first
  std::vector<Grid> grids;
};

// Aligned columns. Where a terminal is too narrow, the widest column of text is shortened first.
std::string grid_text(const Grid& grid, const TableStyle& style);
std::string grid_markdown(const Grid& grid);
// Numbers exact and without units. Title and notes are left out.
std::string grid_csv(const Grid& grid);
// {"title": ..., "rows": [{key: value, ...}, ...], "notes": [...]}
Json grid_json(const Grid& grid);

}  // namespace laptime
