// PointAnswer: what a command says of one point. People read its lines, tables and pictures; programs its findings and
// tables.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/finding.h"
#include "record/record.h"
#include "table/table.h"

namespace laptime {

// Lines, a table or a picture, in the order in which people read them.
struct AnswerPart {
  std::vector<std::string> lines{};  // for people; wrapped at spaces, and further lines indented as the first
  Table table{};                     // without columns: none
  std::function<std::string(const TextStyle& style)> picture{};  // for people: whole lines
  bool for_people = true;
  bool for_data = true;  // the table stands in CSV and JSON
};

struct PointAnswer {
  std::string name;  // of the record
  std::string status = "ok";
  std::string reason{};  // of a status that is not ok
  std::string title{};   // a line above the answer where several points are shown: how this one differs from them
  std::vector<Finding> findings{};
  std::vector<AnswerPart> parts{};

  void say(std::string line);                // for people; nothing for an empty line
  void say(std::vector<std::string> lines);  // the same
  void show(Table table);                    // for people and programs
  void keep(Table table);                    // for programs alone
  void draw(std::function<std::string(const TextStyle& style)> picture);
  void fill(std::vector<std::string> words, bool is_indented = true);  // on as few lines as they need
  void say_findings(std::initializer_list<std::string_view> kinds);    // the words of those of these kinds, indented
};

// The name, status and reason of a point, and of a point without a result its only line: "out_of_memory: predicted:
// ...".
PointAnswer answer_about(const Record& record);

PointAnswer answer_without_result(const Record& record);

std::string text_of(const PointAnswer& answer, const TextStyle& style);
std::string markdown_of(const PointAnswer& answer);
// {"name", "status", "reason", "findings": [...], "tables": {name: [{...}, ...], ...}}
Json json_of(const PointAnswer& answer);
// The rows of all tables of all answers under one header: name, table, and every column of any of them.
std::string csv_of(const std::vector<PointAnswer>& answers);

// Columns of a table from "KEY=TITLE@RANK; ...", where a narrow terminal drops the highest rank first. A column without
// a title is for programs alone, one that begins with '<' has texts, and the unit is that which the key ends in.
std::vector<TableColumn> columns_from(std::string_view list);
// "total_s" counts seconds, "peak_bytes" bytes, "time_share" a fraction.
Unit unit_of_key(std::string_view key);
// The part as a fraction of the whole; null where there is no whole.
Json share_of(double part, double whole);

// A line of a picture of bars, the longest of which stands for the largest value.
struct Bar {
  std::string label;
  std::string number{};  // before the bar, flush right
  double value = 0;
  std::string after{};
};
// "label  number  bar  after" a line, in columns if there are numbers; at most `widest` columns of a bar.
std::string bars_text(const std::vector<Bar>& bars, size_t widest, const TextStyle& style);

}  // namespace laptime
