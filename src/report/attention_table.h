// Table for attention by itself: one row per size, with the modes side by side.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/record.h"
#include "report/record_table.h"
#include "table/table.h"

namespace laptime {

class AttentionTable {
 public:
  // Whether all points run attention by itself and differ only in size and mode.
  static bool suits(const Records& expected);

  // `expected`: records of all points of the sweep, which may be incomplete.
  AttentionTable(const Records& expected, const TableStyle& style);

  // Returns rows whose modes are all complete, as full lines.
  std::string add(const Record& record);
  // Returns the rows that still lack modes.
  std::string end();

 private:
  struct Size {
    std::vector<std::string> labels;          // d_model, context and other differences
    std::map<std::string, Record> by_mode{};  // records that have arrived
    size_t expected = 0;
    bool is_printed = false;
  };

  Size* find(const std::vector<std::string>& labels);
  TableRow row_of(const Size& size) const;
  std::string print(Size& size);

  std::vector<std::string> modes_;
  std::vector<Size> sizes_;
  std::optional<GrowingTable> rows_;
};

}  // namespace laptime
