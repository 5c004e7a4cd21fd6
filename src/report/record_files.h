// Records as data: CSV, JSON, JSON lines, and one line per sample.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/record.h"
#include "report/columns.h"
#include "report/records.h"
#include "table/text.h"

namespace laptime {

// Comma-separated values (RFC 4180) with data_columns(). With `all` there is a column for every leaf of the records'
// JSON, named by its dotted path as in filters; a list of numbers or strings is one JSON cell, and lists of objects
// (phases, kernels) are omitted. Default columns without a value in any record are omitted.
void csv(const Records& records, std::string_view columns, const TextSink& sink, std::string_view mfu = "mfu");

using NamedCells = std::vector<std::pair<std::string, Json>>;
// Comma-separated values of the cells that `cells_of` returns for each record, with a column for each name. If a name
// first occurs in a later record, its column follows the column of the name that precedes it in that record.
void csv_of_cells(const Records& records, const std::function<NamedCells(const Record&)>& cells_of,
                  const TextSink& sink);

// A JSON array of complete records, one per line, ending in a line break. ASCII only: everything else is \u-escaped.
void json(const Records& records, const TextSink& sink);

// JSON lines with the columns of csv(); with `all`, each line is a complete record. Columns that compare rows (speedup)
// find their baseline in earlier rows or in `expected`; have_late_baselines() says if a baseline may come later.
class JsonLines {
 public:
  // `expected` as in TableStream.
  JsonLines(std::string_view columns, const Records& expected, std::string_view mfu = "mfu");

  Extent extent() const;
  bool have_late_baselines() const { return laptime::have_late_baselines(columns_); }
  std::string line(const Record& record);

 private:
  bool is_whole_ = false;
  std::vector<Column> columns_;
};

// CSV with one line per sample of each measured record: configuration_columns(), created, run, phase, sample, seconds.
void samples_csv(const Records& records, const TextSink& sink);

}  // namespace laptime
