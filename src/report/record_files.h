// Records as data: CSV, JSON, lines of JSON, and a line for each sample.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "report/columns.h"
#include "report/records.h"
#include "table/text.h"

namespace laptime {

// Comma-separated values (RFC 4180) with data_columns(). With `all` a column for every leaf of the records' JSON, named
// by its dotted path as filters name it; a list of numbers or texts is one cell of JSON, a list of objects (phases,
// kernels) is left out. Of the default columns those without a value in any record are left out.
void csv(const Records& records, std::string_view columns, const TextSink& sink);

// An array of whole records, one per line, ending in a line break. ASCII alone: everything else is \u-escaped.
void json(const Records& records, const TextSink& sink);

// Lines of JSON with the columns of csv(); with `all` each is a whole record. A row compares (speedup) with the rows
// before it.
class JsonLines {
 public:
  // `expected` as in TableStream.
  JsonLines(std::string_view columns, const Records& expected);

  Extent extent() const;
  std::string line(const Record& record);

 private:
  bool is_whole_ = false;
  std::unique_ptr<Speedups> speedups_;  // the columns refer to it
  std::vector<Column> columns_;
};

// CSV with a line for each sample of each record, after the columns of its configuration.
void samples_csv(const Records& records, const TextSink& sink);

}  // namespace laptime
