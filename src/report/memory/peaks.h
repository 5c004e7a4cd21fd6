// PeakTable: the peaks of the points of a sweep in one table.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "record/step_trace.h"
#include "report/grid.h"

namespace laptime {

class PeakTable {
 public:
  // `order` is the column that orders the rows, "peak_bytes" or "peak_bytes:desc"; empty: as the points come. Error for
  // a column that the table does not have.
  explicit PeakTable(std::string_view order);

  void add(const Record& record, const std::optional<StepTrace>& trace);
  size_t points() const { return rows_.size(); }

  // One row for each point. With several passes or number types, also a table with one side for these and the other for
  // everything else by which the points differ.
  PointReport report() const;

 private:
  struct Cell {
    std::string point;  // its name without pass and number type
    std::string pass;   // "step float32"
    int64_t bytes = 0;
    bool is_held = false;
    bool fits = true;  // into the memory of its device
  };

  Grid points_grid() const;
  std::optional<Grid> passes_grid() const;

  // The bytes from which on nothing fits; none where everything does, or where a larger peak fits another device.
  std::optional<int64_t> least_too_large() const;

  std::string order_;
  bool descending_ = false;
  std::vector<std::vector<Json>> rows_;
  std::vector<Cell> cells_;
};

}  // namespace laptime
