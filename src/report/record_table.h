// Records as tables for people: on a terminal (all at once or incrementally) and as Markdown.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "report/records.h"
#include "table/table.h"

namespace laptime {

struct TableStyle {
  bool unicode = true;      // if false, only ASCII
  size_t width = 0;         // width of the terminal; 0: no limit
  bool verbose = false;     // also show set-up, first steps, reasons for verdicts and the machine
  bool quiet = false;       // print only the rows
  std::string mfu = "mfu";  // the metric shown as "of peak": mfu, mfu_causal or mfu_6n
  bool tells_runs = false;  // print a line before the rows of each run if there are several runs
  const std::set<std::string>* stored_runs = nullptr;  // runs whose rows are marked as coming from the store

  operator TextStyle() const { return {unicode, width}; }  // NOLINT(google-explicit-constructor)
};

// The default columns show one record as a few sentences (report/point_text.h), and several records as one row each,
// with phases as columns. Speed-ups are added for up to kFewRecords rows that differ in how a step is computed. With
// the column set "attention", records of attention by itself get one row per size (AttentionTable). Other columns give
// one row per record, and one per phase if a column set requests it.
//
// Below the rows come the parts that all rows share, and a line that begins with "!" if the times are uncertain.
class TableStream {
 public:
  // `expected`: the points to come, as far as they are known (name, label, config), or all rows of the table. `columns`
  // as in columns_of. Throws Error for a column that no expected record can have.
  TableStream(const TableStyle& style, std::string_view columns, const Records& expected);
  ~TableStream();

  Extent extent() const;

  // Returns complete lines, or nothing if the row cannot be written yet. Returns nothing until end() if a row may come
  // before its baseline.
  std::string add(const Record& record);

  // Returns the rest of the table and the lines below it, possibly nothing.
  std::string end();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Attention by itself: one row per size, with the modes side by side.
class AttentionTable {
 public:
  // Whether all points run attention by itself and differ only in size and mode.
  static bool suits(const Records& expected);

  // `expected`: a record for each point of the sweep; fields that are not known yet may be missing.
  AttentionTable(const Records& expected, const TableStyle& style);

  // Returns the rows for which the records of all modes have arrived, as complete lines.
  std::string add(const Record& record);
  // Returns the rows for which the records of some modes have not arrived.
  std::string end();
  // The distinct reasons why rows have no times: "unsupported: ...". A row itself only says that its size does not fit.
  const std::vector<std::string>& reasons() const { return reasons_; }

 private:
  struct Size {
    std::vector<std::string> labels;          // d_model, context and the other values of kLabels
    std::map<std::string, Record> by_mode{};  // records that have arrived
    size_t expected = 0;
    bool is_printed = false;
  };

  Size* find(const std::vector<std::string>& labels);
  TableRow row_of(const Size& size) const;
  std::string print(Size& size);

  std::vector<std::string> modes_;
  std::vector<std::string> phases_;  // phases that have a column for each mode
  bool shows_before_backward_ = false;
  std::vector<Size> sizes_;
  std::vector<std::string> reasons_;
  std::optional<GrowingTable> rows_;
};

// Writes everything at once; writes nothing if there are no records. Throws Error for an unknown column.
void table(const Records& records, const TableStyle& style, std::string_view columns, const TextSink& sink);

// Writes a Markdown table; the settings that all rows share stand below it.
void markdown(const Records& records, const TableStyle& style, std::string_view columns, const TextSink& sink);

}  // namespace laptime
