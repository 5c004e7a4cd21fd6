// Tables as terminal text, Markdown, CSV and JSON.
#include "table/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace laptime {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Le;

Table steps() {
  Table table{.name = "steps", .columns = {text_of_rows("name", "")}};
  table.columns.push_back({.key = "median_s", .title = "step", .unit = Unit::kSeconds});
  table.columns.push_back({.key = "forward_s", .title = "forward", .unit = Unit::kSeconds, .drop = 2});
  table.columns.push_back({.key = "mfu", .title = "of peak", .unit = Unit::kFraction, .drop = 1});
  table.rows.push_back({.cells = {"eager", TableCell(0.6823, "", 0.09), 0.129, 0.221}});
  table.rows.push_back({.cells = {"compile", TableCell(0.0461, "", 0.01), 0.0147, nullptr}, .remark = "fastest"});
  return table;
}

std::vector<size_t> widths(const std::string& text) {
  std::vector<size_t> widths;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) widths.push_back(display_width(line));
  return widths;
}

TEST(Table, AlignsColumnsWithOneUnitEach) {
  EXPECT_EQ(text_of(steps(), {}),
            "            step  forward  of peak\n"
            "eager     680 ms   129 ms     22 %\n"
            "compile  46.1 ms  14.7 ms        -  fastest\n");
}

TEST(Table, ChoosesOneUnitForAColumn) {
  Table table{.columns = {{.key = "t_s", .title = "t", .unit = Unit::kSeconds}}};
  for (const double value : {1.5, 0.02, 0.03}) table.add({value});
  EXPECT_EQ(text_of(table, {}), "      t\n1500 ms\n20.0 ms\n30.0 ms\n");
}

TEST(Table, DropsColumnsWithTheHighestRankFirst) {
  EXPECT_EQ(text_of(steps(), {.width = 35}),
            "            step  of peak\n"
            "eager     680 ms     22 %\n"
            "compile  46.1 ms        -  fastest\n");
  EXPECT_EQ(text_of(steps(), {.width = 27}),
            "            step\n"
            "eager     680 ms\n"
            "compile  46.1 ms  fastest\n");
}

TEST(Table, BreaksTitlesBeforeItDropsColumns) {
  Table table{.columns = {text_of_rows("name", "name"), {.key = "a", .title = "mean of forward", .drop = 1}}};
  table.add({"small", 1.25});
  EXPECT_EQ(text_of(table, {.width = 14}),
            "       mean of\n"
            "name   forward\n"
            "small     1.25\n");
}

TEST(Table, LinesFitTheTerminal) {
  Table table{.title = "a title that is longer than the terminal is wide, with many words",
              .columns = {text_of_rows("name", "name")},
              .notes = {"a note that is longer than the terminal is wide, with many words"}};
  std::vector<TableCell> cells{"a name that is also longer than the terminal"};
  for (int i = 0; i < 12; ++i) {
    table.columns.push_back({.key = "k", .title = "a title " + std::to_string(i), .unit = Unit::kSeconds});
    cells.emplace_back(0.001 * i);
  }
  table.add(cells);
  for (const size_t width : {20U, 40U, 80U})
    EXPECT_THAT(widths(text_of(table, {.width = width})), Each(Le(width))) << width;
}

TEST(Table, RemarkReplacesMissingCells) {
  Table table = steps();
  table.rows.push_back({.cells = {"large"}, .remark = "out of memory: needs 3.0 GiB of 2.0 GiB"});
  EXPECT_THAT(text_of(table, {}), testing::HasSubstr("large    out of memory: needs 3.0 GiB of 2.0 GiB\n"));
  EXPECT_THAT(widths(text_of(table, {.width = 40})), Each(Le(40U)));
}

TEST(Table, OmitsDroppableColumnsWithoutValues) {
  Table table{.columns = {text_of_rows("name", "name"), {.key = "mfu", .title = "mfu", .drop = 1}}};
  table.add({"small", nullptr});
  EXPECT_EQ(text_of(table, {}), "name\nsmall\n");
}

TEST(Table, EscapesControlBytes) {
  Table table{.title = "\x1b[1m", .columns = {text_of_rows("name", "n\n")}};
  table.add({"a\x1b"});
  EXPECT_EQ(text_of(table, {}), "\\x1b[1m\nn\\n\na\\x1b\n");
}

TEST(Table, MarkdownStatesUnitsInTheHeader) {
  Table table = steps();
  table.rows[0].heading = "run 1";
  EXPECT_EQ(markdown_of(table),
            "|  | step, ms | forward, ms | of peak |  |\n"
            "| --- | --: | --: | --: | --- |\n"
            "| **run 1** |  |  |  |  |\n"
            "| eager | 680 | 129 | 22 % |  |\n"
            "| compile | 46.1 | 14.7 | - | fastest |\n");
}

TEST(Table, CsvKeepsAllDigitsAndEscapesText) {
  Table table = steps();
  table.rows[1].cells[0] = "=b,c";
  EXPECT_EQ(csv_of(table),
            "name,median_s,forward_s,mfu\r\n"
            "eager,0.6823,0.129,0.221\r\n"
            "\"'=b,c\",0.0461,0.0147,\r\n");
}

TEST(Table, JsonIsAListOfObjects) {
  EXPECT_EQ(json_of(steps()).dump(), R"([{"name":"eager","median_s":0.6823,"forward_s":0.129,"mfu":0.221},)"
                                     R"({"name":"compile","median_s":0.0461,"forward_s":0.0147,"mfu":null}])");
}

TEST(GrowingTable, PrintsRowsAsTheyArrive) {
  Table start = steps();
  const std::vector<TableRow> rows = std::move(start.rows);
  start.rows = {{.cells = {"a longer name"}}};
  start.columns[1].width = 8;
  GrowingTable table(start, {.width = 60});
  EXPECT_EQ(table.add(rows[0]),
            "                   step  forward  of peak\n"
            "eager            680 ms   129 ms     22 %\n");
  EXPECT_EQ(table.add(rows[1]), "compile         46.1 ms  14.7 ms        -  fastest\n");
}

TEST(GrowingTable, UsesALargerUnitIfAValueIsTooWide) {
  GrowingTable table({.columns = {{.key = "t", .title = "time", .unit = Unit::kSeconds, .width = 8}}}, {.width = 20});
  EXPECT_EQ(table.add({.cells = {0.000787}}), "    time\n  787 us\n");
  EXPECT_EQ(table.add({.cells = {0.0056}}), " 5600 us\n");
  EXPECT_EQ(table.add({.cells = {0.0467}}), " 46.7 ms\n");
}

TEST(GrowingTable, LongRemarkDoesNotNarrowTheColumns) {
  Table table = steps();
  const std::string header = text_of(table, {.width = 60}).substr(0, text_of(table, {.width = 60}).find('\n'));
  table.rows[0].remark = "interrupted: stopped by a signal after 10 steps; the times cover the 10 samples taken so far";
  const std::string text = text_of(table, {.width = 60});
  EXPECT_EQ(text.substr(0, text.find('\n')), header);
  for (const std::string_view line : fields_of(text, '\n')) EXPECT_LE(line.size(), 60U) << line;
}

TEST(GrowingTable, KeepsAFixedWidthColumnThatTheFirstRowLacks) {
  Table start = steps();
  const std::vector<TableRow> rows = std::move(start.rows);
  start.rows.clear();
  for (TableColumn& column : start.columns) column.width = 8;
  GrowingTable table(start, {.width = 60});
  EXPECT_THAT(table.add(rows[1]), HasSubstr("of peak"));
  EXPECT_THAT(table.add(rows[0]), HasSubstr("22 %"));
}

TEST(GrowingTable, GivesALongNameItsOwnLine) {
  Table start{.columns = {text_of_rows("name", "name"), {.key = "n", .title = "n", .width = 10}}};
  start.columns[0].width = 5;
  GrowingTable table(start, {.width = 20});
  EXPECT_EQ(table.add({.cells = {"small", 1}}), "name            n\nsmall           1\n");
  EXPECT_EQ(table.add({.cells = {"a much longer name", 2}}), "a much longer name\n                2\n");
}

}  // namespace
}  // namespace laptime
