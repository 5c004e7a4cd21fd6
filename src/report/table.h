// Records as a table for people: aligned, with units, a line at a time or complete.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "record/record.h"
#include "report/records.h"
#include "table/text.h"

namespace laptime {

struct TableStyle {
  bool unicode = true;   // otherwise ASCII alone
  size_t width = 0;      // of the terminal; 0: no limit
  bool details = true;   // under each point its phases and warnings (default table)
  bool verbose = false;  // and set-up and first steps where they do not matter, too
  bool tells_runs =
      false;  // rows of several runs: a line before those of each, where there are details, and how to see one
  std::string store{};  // value of --store, for the commands that a table advises; empty where none was given
  const std::set<std::string>* stored_runs = nullptr;  // runs whose rows a command took from the store: they say so
};

// Above the rows stands once what they share: machine, program, date, parts of names. A table that is too wide for the
// terminal hides columns of the default table, and says which; where those that were asked for do not fit, every
// column of a record has a line of its own. A name too long for its column has a line to itself. Rows that could not be
// told apart have their names. Notes below the rows say what their figures are of (TableNotes).

// A table that is printed while points finish. Widths are fixed at the start; text that is wider is not cut.
class TableStream {
 public:
  // `planned` are the points to come, as far as they are known (name, label, config). `columns` as in columns_of: Error
  // for a column that no planned point can have.
  TableStream(const TableStyle& style, std::string_view columns, std::span<const Record> planned);
  TableStream(const TableStyle& style, std::string_view columns, const Records& planned);
  TableStream(TableStream&& other) noexcept;
  TableStream& operator=(TableStream&& other) noexcept;
  ~TableStream();

  // How much of a record add() looks at.
  Extent extent() const;

  // Lets each row compare with a baseline that comes after it, where all rows are known.
  void add_baselines(const Records& records);

  // Whole lines, the header before the first of them.
  std::string add(const Record& record);

  // The notes below the last row; may be empty.
  std::string end() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All at once, each column as wide as it must be. Empty for no records. Error for an unknown column.
std::string table(std::span<const Record> records, const TableStyle& style, std::string_view columns = "default");
void table(const Records& records, const TableStyle& style, std::string_view columns, const TextSink& sink);

}  // namespace laptime
