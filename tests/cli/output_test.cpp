// Record output: a table that grows on standard output agrees with one that is written at the end.
#include "cli/output.h"

#include <gtest/gtest.h>

#include "report/columns.h"
#include "report/stored_records.h"

namespace laptime {
namespace {

TEST(RecordOutput, SummaryBelowAGrowingTableCoversAllRecords) {
  std::vector<Record> records = stored_records();
  records.resize(2);
  for (Record& record : records) {
    record.prediction.time.clear();
    record.memory.peak_bytes = 1000;
  }
  records[0].prediction.time["step"] = 1.1 * records[0].time.at("step").median;
  records[0].memory.predicted_peak_bytes = 1001;
  records[1].memory.predicted_peak_bytes = 1020;  // the larger error, of a point without a predicted time
  OutputConfig config;
  config.columns = "prediction";
  testing::internal::CaptureStdout();
  RecordOutput output(config, planned(records));
  EXPECT_TRUE(output.is_live_table());
  for (const Record& record : records) output.add(record);
  output.finish();
  const std::vector<std::string> lines = lines_in(testing::internal::GetCapturedStdout());
  EXPECT_EQ(lines.back(), summary_of_columns("prediction", RecordList(records)));
  EXPECT_NE(lines.back().find("memory error at most 2.00 %"), std::string::npos) << lines.back();
}

}  // namespace
}  // namespace laptime
