// PeakTable: the peaks of the points of a sweep in one table.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "record/step_trace.h"
#include "report/grid.h"
#include "report/grid_order.h"
#include "report/memory/peak_grid.h"

namespace laptime {

class PeakTable {
 public:
  // `order` is the column that orders the rows, "peak", "peak_bytes" or "peak_bytes:desc"; empty: as the points come.
  // Error for a column that the table does not have.
  explicit PeakTable(std::string_view order);

  void add(const Record& record, const std::optional<StepTrace>& trace);
  size_t points() const { return rows_.size(); }

  // One row for each point. With several passes or number types, also a table with one side for these and the other for
  // everything else by which the points differ.
  PointReport report() const;

 private:
  Grid points_grid() const;

  std::optional<GridOrder> order_;
  std::vector<std::vector<Json>> rows_;
  PeakGrid by_pass_;
};

}  // namespace laptime
