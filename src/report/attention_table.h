// Attention alone: a row for each size, with the modes side by side.
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
  // Whether the points are of attention alone, and differ only in size and mode.
  static bool suits(const Records& expected);

  // `expected`: every point, as far as it is known.
  explicit AttentionTable(const Records& expected);

  // The rows whose modes have all come, as whole lines.
  std::string add(const Record& record, const TableStyle& style);
  // The rows of which modes are missing.
  std::string end(const TableStyle& style);

 private:
  struct Size {
    std::vector<std::string> labels;          // d_model, context and what else differs
    std::map<std::string, Record> by_mode{};  // those that have come
    size_t expected = 0;
    bool is_printed = false;
  };

  Size* find(const std::vector<std::string>& labels);
  TableRow row_of(const Size& size) const;
  std::string print(Size& size, const TableStyle& style);

  std::vector<std::string> modes_;
  std::vector<Size> sizes_;
  Table start_;
  std::optional<GrowingTable> rows_;
};

}  // namespace laptime
