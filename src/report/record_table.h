// Records as tables for people: on a terminal (all at once or incrementally) and as Markdown.
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
  bool unicode = true;      // if false, only ASCII
  size_t width = 0;         // width of the terminal; 0: no limit
  bool verbose = false;     // also show set-up, first steps, reasons for verdicts and the machine
  bool quiet = false;       // only rows
  std::string mfu = "mfu";  // the metric shown as "of peak": also mfu_causal, mfu_6n
  bool tells_runs = false;  // print a line before the rows of each run if there are several runs
  const std::set<std::string>* stored_runs = nullptr;  // runs whose rows come from the store and are marked as such

  operator TextStyle() const {
    return {unicode, width};
  }  // NOLINT(google-explicit-constructor): a TableStyle is a TextStyle
};

// The default columns show one record as a few sentences (report/point_text.h), and several records as one row each,
// with phases as columns and, if the rows vary how a step is computed, with speed-ups. Records of attention by itself
// share a row per size (report/attention_table.h). Other columns give a table with one row per record, and one per
// phase if a column set requests it.
//
// Below the rows come the parts that they share, and a line that begins with "!" if their times are uncertain.
class TableStream {
 public:
  // `expected` are the points to come, as far as they are known (name, label, config), or all rows of the table.
  // `columns` as in columns_of: throws Error for a column that no expected record can have.
  TableStream(const TableStyle& style, std::string_view columns, std::span<const Record> expected);
  TableStream(const TableStyle& style, std::string_view columns, const Records& expected);
  TableStream(TableStream&& other) noexcept;
  TableStream& operator=(TableStream&& other) noexcept;
  ~TableStream();

  Extent extent() const;

  // Complete lines; may be empty until more records arrive.
  std::string add(const Record& record);

  // The rest of the table and the lines below it; may be empty.
  std::string end();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Writes everything at once; writes nothing if there are no records. Throws Error for an unknown column.
void table(const Records& records, const TableStyle& style, std::string_view columns, const TextSink& sink);

// Writes Markdown, with the parts that the rows share below the table.
void markdown(const Records& records, const TableStyle& style, std::string_view columns, const TextSink& sink);

}  // namespace laptime
