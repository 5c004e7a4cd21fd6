// CSV, JSON and JSON lines of records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/record_files.h"
#include "report/stored_records.h"

namespace laptime {
namespace {

using testing::HasSubstr;

std::vector<std::vector<std::string>> read_csv(std::string_view text) {
  std::vector<std::vector<std::string>> rows;
  while (!text.empty()) rows.push_back(take_csv_line(text));
  return rows;
}

TEST(Csv, HasOneCellPerColumnAndNoFormulas) {
  const auto rows = read_csv(csv(stored_records(), "all"));
  ASSERT_EQ(rows.size(), 11U);
  for (const auto& row : rows) {
    EXPECT_EQ(row.size(), rows[0].size());
    for (const std::string& cell : row) {
      const bool formula = !cell.empty() && std::string("=+@|%").find(cell[0]) != std::string::npos;
      EXPECT_FALSE(formula) << cell;
    }
  }
}

TEST(Csv, NegativeNumbersStayNumbers) {
  Record record = stored_records().front();
  record.loss.values = {-1.5};
  record.machine = Json{{"offset", -2.5}, {"word", "-2.5"}};
  const auto rows = read_csv(csv(std::span(&record, 1), "all"));
  const auto cell = [&](const std::string& name) {
    const auto found = std::find(rows[0].begin(), rows[0].end(), name);
    return found == rows[0].end() ? "no such column" : rows[1][static_cast<size_t>(found - rows[0].begin())];
  };
  EXPECT_EQ(cell("machine.offset"), "-2.5");
  EXPECT_EQ(cell("machine.word"), "'-2.5");
  EXPECT_EQ(cell("loss.values"), "[-1.5]");
  EXPECT_EQ(cell("kernels"), "no such column");
}

// Numeric cells are plain numbers, and the order of the columns does not depend on the records.
TEST(Csv, DefaultColumnsHaveValuesAndAFixedOrder) {
  const auto rows = read_csv(csv(stored_records()));
  ASSERT_EQ(rows.size(), 11U);
  std::vector<std::string> all = read_csv(csv({}))[0];
  std::erase_if(
      all, [&](const std::string& name) { return std::find(rows[0].begin(), rows[0].end(), name) == rows[0].end(); });
  EXPECT_EQ(rows[0], all);
  for (size_t i = 0; i < rows[0].size(); ++i) {
    const auto has_value = [i](const std::vector<std::string>& row) { return !row[i].empty(); };
    EXPECT_TRUE(rows[0][i] == "label" || std::any_of(rows.begin() + 1, rows.end(), has_value)) << rows[0][i];
  }
  EXPECT_EQ(read_csv(csv(stored_records(), "default,recompute"))[0].back(), "recompute");
  for (size_t i = 0; i < rows[0].size(); ++i) {
    const std::string& header = rows[0][i];
    if (!header.ends_with("_s") && !header.ends_with("_bytes")) continue;
    for (size_t row = 1; row < rows.size(); ++row) {
      EXPECT_EQ(rows[row][i].find_first_not_of("0123456789.e+-"), std::string::npos) << header << rows[row][i];
    }
  }
  EXPECT_THAT(rows[0], testing::IsSupersetOf({"median_s", "mean_s", "std_s", "ci_low_s", "ci_high_s", "forward_s",
                                              "backward_s", "optimizer_s", "peak_bytes", "context_length", "dtype"}));
}

TEST(JsonLines, ContainSelectedColumnsOrWholeRecords) {
  const std::vector<Record> records = stored_records();
  const RecordList list(records);
  JsonLines narrow("default", list);
  const Json row = Json::parse(narrow.line(records[0]));
  EXPECT_EQ(row.size(), data_columns("default", list).size());
  EXPECT_EQ(row["median_s"], 1.3343);
  EXPECT_EQ(row["context_length"], 256);
  EXPECT_EQ(row["predicted"], false);
  JsonLines whole("all", list);
  EXPECT_EQ(parse_record(whole.line(records[0])), records[0]);
  JsonLines two("name,peak", list);
  EXPECT_EQ(Json::parse(two.line(records[0])).size(), 2U);
}

TEST(Samples, HaveALineForEachPhaseOfEachSample) {
  const std::vector<Record> records = stored_records();
  std::string text;
  samples_csv(RecordList(records), [&](std::string_view more) { text += more; });
  const auto rows = read_csv(text);
  size_t samples = 0;
  for (const Record& record : records) {
    if (is_predicted(record)) continue;
    for (const auto& [phase, time] : record.time) samples += time.samples.size();
  }
  EXPECT_EQ(rows.size(), 1 + samples);
  EXPECT_EQ(rows[0].back(), "seconds");
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  EXPECT_EQ(std::stod(rows[1].back()), records[0].time.begin()->second.samples[0]);
}

TEST(Json, RoundTrips) {
  const std::vector<Record> records = stored_records();
  const Json array = Json::parse(json(records));
  ASSERT_EQ(array.size(), records.size());
  for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(record_from_json(array[i]), records[i]);
  EXPECT_EQ(Json::parse(json({})), Json::array());
}

}  // namespace
}  // namespace laptime
