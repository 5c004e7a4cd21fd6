// Records as tables for people: on a terminal, all at once or as points finish, and as Markdown.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "record/record.h"
#include "report/records.h"
#include "table/table.h"

namespace laptime {

struct TableStyle {
  bool unicode = true;                                 // otherwise only ASCII
  size_t width = 0;                                    // of the terminal; 0: no limit
  bool verbose = false;                                // set-up, first steps, reasons of verdicts and the machine too
  bool quiet = false;                                  // rows alone
  std::string mfu = "mfu";                             // the metric behind "of peak": also mfu_causal, mfu_6n
  bool tells_runs = false;                             // a line before the rows of each run, if there are several
  const std::set<std::string>* stored_runs = nullptr;  // runs whose rows come from the store; they say so

  operator TextStyle() const { return {unicode, width}; }  // NOLINT(google-explicit-constructor): it is one
};

// The default columns show one record as a few sentences (report/point_text.h), and several as a row each, with phases
// as columns and, where the rows vary how a step is computed, with speedups. Records of attention alone have a row for
// each size (report/attention_table.h). Other columns are a table with a row for each record, and one for each phase if
// a column set asks for them.
//
// Below the rows stand what they share, and one line that begins with "!" if their times are uncertain.
class TableStream {
 public:
  // `expected` are the points to come, as far as they are known (name, label, config), or all rows of the table.
  // `columns` as in columns_of: Error for a column that no expected record can have.
  TableStream(const TableStyle& style, std::string_view columns, std::span<const Record> expected);
  TableStream(const TableStyle& style, std::string_view columns, const Records& expected);
  TableStream(TableStream&& other) noexcept;
  TableStream& operator=(TableStream&& other) noexcept;
  ~TableStream();

  Extent extent() const;

  // Whole lines; may be empty until more records have come.
  std::string add(const Record& record);

  // The rest of the table, and the lines below it; may be empty.
  std::string end();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All at once; nothing for no records. Error for an unknown column.
void table(const Records& records, const TableStyle& style, std::string_view columns, const TextSink& sink);

// As Markdown, with the words that the rows share below it.
void markdown(const Records& records, const TableStyle& style, std::string_view columns, const TextSink& sink);

}  // namespace laptime
