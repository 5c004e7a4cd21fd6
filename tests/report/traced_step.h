// Reads the tables in the profile of a handmade trace.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "analysis/made_trace.h"
#include "report/profile_answer.h"
#include "report/tables_of.h"

namespace laptime {

class Profile : public TraceTest {
 protected:
  static double column_sum(const Table& table, std::string_view key) {
    double sum = 0;
    for (const TableRow& row : table.rows) {
      const Json& value = row.cells[index_of(table, key)].value;
      sum += value.is_number() ? value.get<double>() : 0;
    }
    return sum;
  }

  // The value of a column in the first row with this text.
  static Json cell(const Table& table, const std::string& row_text, std::string_view key) {
    for (const TableRow& row : table.rows) {
      bool found = false;
      for (const TableCell& one : row.cells) found = found || one.value == row_text;
      if (found) return row.cells[index_of(table, key)].value;
    }
    return nullptr;
  }

  Table view(const ProfileQuery& query) { return profile_tables(trace_, query).front(); }
  std::string text(const ProfileQuery& query, size_t width = 80) {
    return text_of(profile_answer(record_, trace_, query), {.unicode = false, .width = width});
  }
};

}  // namespace laptime
