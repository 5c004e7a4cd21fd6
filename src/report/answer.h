// PointAnswer: a command's answer about one point, its output formats, and bar charts. People read its lines, tables
// and pictures; programs read its findings and tables.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/finding.h"
#include "record/record.h"
#include "table/table.h"

namespace laptime {

// A line, words, a table or a picture; an answer lists its parts in reading order.
struct AnswerPart {
  std::string line{};                // for people; wrapped at spaces, continued with the line's own indent
  std::vector<std::string> words{};  // for people; filled into as few lines as needed
  bool is_indented = false;          // whether the first line of the words is indented
  Table table{};                     // without columns if the part has no table
  std::function<std::string(const TextStyle& style)> picture{};  // for people; returns complete lines
  bool for_people = true;
  bool for_data = true;  // CSV and JSON include the table
};

struct PointAnswer {
  std::string name;  // the record's name
  std::string status = "ok";
  std::string reason{};  // reason for a status other than ok, or for a missing trace
  std::string title{};   // heading if there are several points: how the point differs from the others
  std::vector<Finding> findings{};
  std::vector<AnswerPart> parts{};

  void say(std::string line);  // for people; ignores an empty line
  void show(Table table);      // for people and programs
  void keep(Table table);      // only for programs
  void draw(std::function<std::string(const TextStyle& style)> picture);
  void fill(std::vector<std::string> words, bool is_indented = true);  // wraps the words into as few lines as needed
  void say_findings(std::initializer_list<std::string_view> kinds);    // says findings of these kinds on indented lines
};

// Returns an answer with the record's name, status and reason, and no parts yet.
PointAnswer answer_about(const Record& record);

// Like answer_about, with a line for the status and reason: "out_of_memory: predicted: ...". A point with status ok has
// no result if its trace was not kept; the reasons of its verdict say why.
PointAnswer answer_without_result(const Record& record);

std::string text_of(const PointAnswer& answer, const TextStyle& style);
std::string markdown_of(const PointAnswer& answer);
// The answer as {"name", "status", "reason", "findings": [...], "tables": {name: [{...}, ...], ...}}.
Json json_of(const PointAnswer& answer);
// The rows of all tables of all answers under one header: name, table, and the union of all columns.
std::string csv_of(const std::vector<PointAnswer>& answers);

// Parses columns from "KEY=TITLE@RANK; ...". A narrow terminal drops the highest rank first. A column without a title
// is only for programs, a leading '<' marks text, and the key's suffix determines the unit.
std::vector<TableColumn> columns_from(std::string_view list);
// The unit that a key's suffix states: seconds for "total_s", bytes for "peak_bytes", a fraction for "time_share".
Unit unit_of_key(std::string_view key);
// The part as a fraction of the whole; null unless the whole is positive.
Json share_of(double part, double whole);

// One line of a bar chart; the longest bar stands for the largest value.
struct Bar {
  std::string label;
  std::string number{};  // right-aligned, before the bar
  double value = 0;
  std::string after{};
};
// One line "label  number  bar  after" for each bar. The longest bar has `widest` columns, or fewer if the terminal is
// too narrow. The texts after the bars are aligned only if there are numbers.
std::string bars_text(const std::vector<Bar>& bars, size_t widest, const TextStyle& style);

}  // namespace laptime
