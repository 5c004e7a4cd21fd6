// Reads the tables of answers.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "report/answer.h"

namespace laptime {

// The table with this name in the JSON output of the answer. Fails the test if it is missing.
inline Table table_named(const PointAnswer& answer, std::string_view name) {
  for (const AnswerPart& part : answer.parts) {
    if (part.for_data && part.table.name == name) return part.table;
  }
  ADD_FAILURE() << "no table " << name;
  return {};
}

inline size_t index_of(const Table& table, std::string_view key) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key == key) return i;
  }
  ADD_FAILURE() << "no column " << key;
  return 0;
}

inline Json cell(const Table& table, size_t row, std::string_view key) {
  return table.rows.at(row).cells.at(index_of(table, key)).value;
}

}  // namespace laptime
