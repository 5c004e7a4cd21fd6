// Sorting rows by a column.
#include "report/columns.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"

namespace laptime {
namespace {

Table made() {
  Table table{.name = "made", .columns = {text_of_rows("name", "Name"), {.key = "total_s", .title = "Time"}}};
  table.add({"b", 2});
  table.add({"a", nullptr});
  table.add({"c", 1});
  return table;
}

TEST(TableOrder, AcceptsKeysAndTitlesInAnyCase) {
  for (const char* column : {"total_s", "time", "Time:asc"})
    EXPECT_EQ(row_order(made(), TableOrder(made(), column, false)), (std::vector<size_t>{2, 0, 1})) << column;
  EXPECT_EQ(row_order(made(), TableOrder(made(), "name:desc", false)), (std::vector<size_t>{2, 0, 1}));
}

TEST(TableOrder, PutsRowsWithoutAValueLast) {
  EXPECT_EQ(row_order(made(), TableOrder(made(), "time", true)), (std::vector<size_t>{0, 2, 1}));
}

TEST(TableOrder, RejectsUnknownColumnAndDirection) {
  EXPECT_THROW(TableOrder(made(), "tmie", false), Error);
  EXPECT_THROW(TableOrder(made(), "time:up", false), Error);
}

}  // namespace
}  // namespace laptime
