// What a page is made of: sections of sentences, tables and charts, as values that become one JSON block.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/json_object.h"
#include "report/columns.h"
#include "report/grid.h"
#include "report/palette.h"

namespace laptime {

// A table as a page shows it. Cells have a value, which is what is saved as CSV, and the text that people read.
struct PageTable {
  struct Column {
    std::string key;    // header of the CSV, with the unit of the values: "median_s"
    std::string title;  // for people, with the unit of the texts: "median, ms"
    bool text = false;  // flush left
  };
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Json>> rows;          // null: unknown
  std::vector<std::vector<std::string>> shown;  // as many cells as `rows`
  std::vector<std::string> notes;
};

// One unit for each column, that of its geometric mean; the titles name it.
PageTable page_table(const Grid& grid);

// A row for each record. A record that is not ok says why in a note.
PageTable page_table(std::string_view title, const std::vector<Column>& columns, const Records& records,
                     const Heading& heading);

// A word that a reader need not know, and what it means here.
struct PageWord {
  std::string word;
  std::string meaning;
};

// A part of stacked bars or areas: the column of its values, its name, and how it looks.
struct ChartPart {
  std::string key;  // "forward_s"
  std::string name;
  Look look;
};
// [{"key": "forward_s", "name": "forward", "color": "#4477aa", "pattern": 0}, ...]: "parts" of a chart.
Json parts_json(const std::vector<ChartPart>& parts);

// {"matmul": {"color": "#88ccee", "pattern": 0}, ...}: "looks" of a chart whose parts are named in a column.
Json looks_json(std::span<const NamedLook> looks);

// How a chart is drawn from the table of its figure: {"kind": "bars", ...}. Columns are named by their keys.
struct PageFigure {
  std::string title;
  std::string reading{};  // what the numbers say, in a sentence below the title; empty where they speak for themselves
  std::string summary{};  // how the chart is read, in a few sentences below it
  Json chart{};           // null: the table alone
  std::vector<PageWord> words{};  // those that the chart shows
  PageTable table{};
  bool is_open = false;  // whether the table is shown without being asked for
};

struct PageQuestion {
  std::string question;
  std::vector<std::string> answers;
  std::string conclusion{};  // what follows from the answers, or why nothing does; empty where an answer says it
};

struct PageSection {
  std::string id;  // "step-time"
  std::string title;
  std::vector<std::string> lines{};
  std::vector<PageQuestion> questions{};
  std::vector<PageFigure> figures{};
  std::vector<PageWord> words{};  // those of the lines and answers

  bool is_empty() const { return lines.empty() && questions.empty() && figures.empty(); }
};

Json page_json(const PageSection& section);

// A sentence or two at the top of a page, and the question that they answer: "how sure".
struct PageAnswer {
  std::string label;  // empty for the first, which says how long the headline takes
  std::string text;
};

// [["stable", "steps took ..."], ...]
Json words_json(const std::vector<PageWord>& words);

// The cell of a record in the column of the default table with this header: "812.4 ms (805.1 .. 820.0)".
std::string cell_of(std::string_view header, const Record& record);

// Notes on the table of a chart how many of all points it shows, where it does not show all.
void note_left_out(Grid& grid, size_t shown, size_t all);
// " 8 of 16 points are shown, ...": the same for the summary of a chart; empty where all are shown.
std::string left_out_sentence(size_t shown, size_t all);

// {"unit": "ms", "factor": 0.001}: the multiple of a unit in which an axis counts up to `most`.
Json axis_of(double most, Unit unit);

}  // namespace laptime
