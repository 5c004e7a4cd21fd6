// Records as JSON: one array, or one record per line.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "report/narrow.h"
#include "report/records.h"
#include "table/text.h"

namespace laptime {

// An array, a record per line, ending in a line break. ASCII alone: everything else is \u-escaped.
std::string json(std::span<const Record> records);
void json(const Records& records, const TextSink& sink);

// The whole record in one line, its break included.
std::string jsonl(const Record& record);

// Lines with the columns of csv(); with `all` each is a whole record. Rows compare (speedup) with those before them.
class JsonLines {
 public:
  // `planned` as in TableStream.
  JsonLines(std::string_view columns, const Records& planned);

  // Lets each row compare with a baseline that comes after it, where all rows are known.
  void add_baselines(const Records& records);

  Extent extent() const;
  std::string line(const Record& record);

 private:
  bool whole_ = false;
  std::unique_ptr<Baselines> baselines_;
  std::vector<Column> columns_;
};

}  // namespace laptime
