// What warm-up does: mean, standard deviation and the first samples of each row, side by side.
#include <fmt/format.h>

#include "report/column_sets/column_sets.h"
#include "report/column_sets/readers.h"

namespace laptime {

using namespace cells;

namespace {

constexpr size_t kShown = 3;  // first samples

Column sample_column(size_t index) {
  Column column =
      quantity(fmt::format("sample {}", index + 1), Unit::kSeconds, from_time([index](const TimeStats& time) -> Json {
                 return index < time.samples.size() ? Json(time.samples[index]) : Json(nullptr);
               }));
  column.width = 9;
  return column;
}

}  // namespace

std::vector<Column> columns_first_steps() {
  const auto of_table = [](std::string_view title, int drop) {
    Column column = *table_column(title);
    column.drop = drop;
    column.of_phase = false;
    return column;
  };
  Column name = of_table("name", 0);
  name.then_reason = true;
  name.then_notes = true;
  std::vector<Column> columns{std::move(name), figure("warmup", warmup_of), of_table("n", 2), of_table("mean", 0)};
  columns[1].width = 7;
  for (size_t i = 0; i < kShown; ++i) columns.push_back(sample_column(i));
  columns.push_back(of_table("median", 3));
  columns.back().bracket_may_go = true;
  columns.push_back(of_table("verdict", 1));
  return columns;
}

}  // namespace laptime
