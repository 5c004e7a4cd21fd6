// Statistics of the samples: of each phase, and what warm-up does to them.
#include <fmt/format.h>

#include "report/column_sets/column_sets.h"
#include "report/column_sets/readers.h"

namespace laptime {

using namespace cells;

namespace {

Column of_table(std::string_view title, int drop) {
  Column column = *table_column(title);
  column.drop = drop;
  return column;
}

Column of_row(std::string_view title, int drop) {
  Column column = of_table(title, drop);
  column.of_phase = false;
  return column;
}

Column sample_column(size_t index) {
  return quantity(fmt::format("sample {}", index + 1), Unit::kSeconds, from_time([index](const TimeStats& time) {
                    return index < time.samples.size() ? Json(time.samples[index]) : Json(nullptr);
                  }));
}

}  // namespace

std::vector<Column> columns_mean_std() {
  Column warmup = figure("warmup", warmup_of);
  warmup.width = 6;
  warmup.drop = 3;
  return {of_table("name", 0), std::move(warmup),  of_table("n", 2),   mean_alone(),
          of_table("std", 0),  of_table("min", 0), of_table("max", 0), of_table("verdict", 4)};
}

std::vector<Column> columns_first_steps() {
  constexpr size_t kShown = 3;  // first samples
  std::vector<Column> columns{of_row("name", 0), figure("warmup", warmup_of), of_row("n", 2), of_row("mean", 0)};
  columns[1].width = 6;
  for (size_t i = 0; i < kShown; ++i) columns.push_back(sample_column(i));
  columns.push_back(of_row("median", 3));
  columns.push_back(of_row("verdict", 1));
  return columns;
}

}  // namespace laptime
