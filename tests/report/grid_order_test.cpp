// The order of a grid's rows: columns by key or header, directions, values that are missing.
#include "report/grid_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace laptime {
namespace {

Grid grid() {
  return {.name = "peaks",
          .title = {},
          .columns = {text_column("point", "Point"), bytes_column("peak_bytes", "Peak")},
          .rows = {{"a", 2}, {"b", nullptr}, {"c", 3}, {"d", 1}},
          .notes = {}};
}

std::vector<size_t> ordered(std::string_view text, Direction otherwise = Direction::kAscending) {
  const Grid rows = grid();
  return row_order(rows, grid_order(rows.name, rows.columns, text, otherwise));
}

TEST(GridOrder, TakesWhatATablePrintsAsAHeader) {
  const std::vector<size_t> ascending{3, 0, 2, 1};
  for (const char* const word : {"peak_bytes", "Peak", "peak", "PEAK:asc"}) EXPECT_EQ(ordered(word), ascending) << word;
  const std::vector<size_t> descending{2, 0, 3, 1};
  EXPECT_EQ(ordered("peak:desc"), descending);
  EXPECT_EQ(ordered("peak", Direction::kDescending), descending);
}

TEST(GridOrder, NamesTheNearestColumn) {
  const auto error_of = [](std::string_view text) {
    try {
      ordered(text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(error_of("peek_bytes"), testing::HasSubstr("did you mean 'peak_bytes'?"));
  EXPECT_THAT(error_of("Peek"), testing::HasSubstr("did you mean 'Peak'?"));
  EXPECT_THAT(error_of("peak:up"), testing::HasSubstr("unknown direction 'up'"));
}

}  // namespace
}  // namespace laptime
