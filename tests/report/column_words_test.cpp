// Every table header is listed and can be used in --columns, --sort and filters.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/json.h"
#include "config/option_table.h"
#include "config/run_config.h"
#include "report/columns.h"
#include "report/filter.h"

namespace laptime {
namespace {

TEST(ColumnWords, EveryHeaderOfEverySetIsAccepted) {
  std::set<std::string> listed;
  for (const OptionRow& row : option_rows<RunConfig>()) listed.emplace(row.option.flag);  // shown next to its key
  for (const ColumnWord& word : column_words()) {
    listed.insert(word.name);
    EXPECT_FALSE(word.help.empty()) << word.name;
  }
  const Speedups speedups;
  const RecordList none({});
  for (const ColumnSet& set : column_sets()) {
    for (const Column& column : set.columns()) {
      const std::string where = fmt::format("{} of {}", column.title, set.name);
      EXPECT_TRUE(listed.contains(column.title)) << where;
      EXPECT_EQ(columns_of(column.title, speedups, none).size(), 1U) << where;
      EXPECT_NO_THROW(sort_records({}, column.title + ":desc")) << where;
      EXPECT_NO_THROW(Filter(fmt::format("'{}' = 1", column.title)).check(none)) << where;
    }
  }
  EXPECT_TRUE(listed.contains("peak"));
  EXPECT_TRUE(listed.contains("speedup"));
}

}  // namespace
}  // namespace laptime
