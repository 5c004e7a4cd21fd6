// Mean, standard deviation, minimum and maximum of each phase, with the verdict of the row.
#include "report/column_sets/column_sets.h"
#include "report/column_sets/readers.h"

namespace laptime {

using namespace cells;

std::vector<Column> columns_mean_std() {
  const auto of_table = [](std::string_view title, int drop) {
    Column column = *table_column(title);
    column.drop = drop;
    return column;
  };
  Column name = of_table("name", 0);
  name.then_reason = true;
  Column warmup = figure("warmup", warmup_of);
  warmup.width = 7;
  warmup.drop = 3;
  return {std::move(name),    std::move(warmup),  of_table("n", 2),   mean_alone(),
          of_table("std", 0), of_table("min", 0), of_table("max", 0), of_table("verdict", 1)};
}

}  // namespace laptime
