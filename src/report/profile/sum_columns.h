// The columns of the tables that a profile shows, and their rows.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/launch_sums.h"
#include "report/grid.h"

namespace laptime {

// What a table of sums shows beside its columns of text.
enum class SumColumns : uint8_t {
  kAll,     // calls, total, mean, median, min, max, std, share, FLOPs, bytes, rates, roofline
  kShort,   // total, share, calls, mean, rates, roofline
  kKernels  // those of `nsys stats`, then rates and roofline
};

// A row of a table: its cells of text, and the sum.
struct SumRow {
  std::vector<std::string> texts;
  LaunchSum sum;
  std::optional<size_t> inside = {};  // index of the row whose sum contains this one
};

// The column with the name of this pass in place of "step": people read the total of a forward pass as that.
GridColumn with_pass_name(GridColumn column, const std::string& pass);

// The fraction of the bound that a sum reaches. People see a fraction above 1 as ">100 %".
GridColumn of_bound_column();

// `text_columns` come first, and last in the columns of `nsys stats`. Shares are of `whole`, in seconds.
Grid sum_grid(const std::string& name, const std::string& title, const std::vector<GridColumn>& text_columns,
              const std::vector<SumRow>& rows, SumColumns columns, double whole);

// Adds a note that says how rows can be faster than their bounds, if some are.
void explain_above_bound(Grid& grid);

}  // namespace laptime
