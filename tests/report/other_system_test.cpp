// Steps that another program ran: every table and file states its name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "record/metrics.h"
#include "report/filter.h"
#include "report/record_files.h"
#include "report/record_table.h"
#include "report/stored_records.h"

namespace laptime {
namespace {

using testing::HasSubstr;
using testing::Not;

// A row of this program, and a row with the same steps run by another program.
std::vector<Record> two_records() {
  std::vector<Record> records = stored_records();
  records.resize(1);
  Record other = records.front();
  other.name += "/system:jax";
  other.config.json()["system"] = "jax";
  other.binary = {"jax 0.10.2", "", "", ""};
  other.math_mode = "";
  other.kernels.clear();
  records.push_back(other);
  return records;
}

TEST(OtherSystem, IsNamedInEveryTable) {
  const std::vector<Record> records = two_records();
  for (const char* const columns : {"default", "all", "attention", "2024", "mean_std", "2025c", "forward_backward",
                                    "attention_memory", "tokens/s,mfu", "name,median", "status", "system"}) {
    EXPECT_THAT(table(records, {}, columns), HasSubstr("jax")) << columns;
    EXPECT_THAT(markdown(records, columns), HasSubstr("jax")) << columns;
    EXPECT_THAT(table(std::span(records).first(1), {}, columns), Not(HasSubstr("jax"))) << columns;
  }
  EXPECT_THAT(table(records, {}, "dtype,median"), HasSubstr("system jax"));  // rows with equal settings have names
  EXPECT_THAT(table(std::span(records).last(1), {.verbose = true}), HasSubstr("jax 0.10.2"));
}

TEST(OtherSystem, IsAColumnInDataFiles) {
  const std::vector<Record> records = two_records();
  JsonLines lines("default", RecordList(records));
  EXPECT_EQ(Json::parse(lines.line(records[0]))["system"], "laptime");
  EXPECT_EQ(Json::parse(lines.line(records[1]))["system"], "jax");
  EXPECT_THAT(csv(records, "system,median"), HasSubstr("jax,"));
  EXPECT_EQ(records_matching(Filter("system = jax"), records).size(), 1U);
  EXPECT_EQ(records_matching(Filter("system = laptime"), records).size(), 1U);
}

}  // namespace
}  // namespace laptime
