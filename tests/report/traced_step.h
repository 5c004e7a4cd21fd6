// Reads the tables of the profile of a trace made by hand.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/traced_step.h"
#include "report/grid.h"
#include "report/profile/profile_report.h"
#include "report/profile/views.h"

namespace laptime {

class Profile : public TraceTest {
 protected:
  static double column_sum(const Grid& grid, const std::string& key) {
    double sum = 0;
    for (size_t i = 0; i < grid.columns.size(); ++i) {
      if (grid.columns[i].key != key) continue;
      for (const std::vector<Json>& row : grid.rows) sum += row[i].is_number() ? row[i].get<double>() : 0;
    }
    return sum;
  }

  static Json cell(const Grid& grid, const std::string& row_text, const std::string& key) {
    for (const std::vector<Json>& row : grid.rows) {
      bool found = false;
      for (const Json& value : row) found = found || value == row_text;
      if (!found) continue;
      for (size_t i = 0; i < grid.columns.size(); ++i) {
        if (grid.columns[i].key == key) return row[i];
      }
    }
    return nullptr;
  }

  Grid view(const ProfileQuery& query) { return view_tables(trace_, query).front(); }
};

}  // namespace laptime
