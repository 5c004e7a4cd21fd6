// Histories of handmade records: builds, levels, and omitted records.
#include "report/history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace laptime {
namespace {

Record made(int build, double median, const std::string& name = "step/model:small") {
  Record record;
  record.name = name;
  record.config.json()["pass"] = "step";
  record.time["step"] = make_time_stats(std::vector<double>(6, median));
  record.binary.commit = "c" + std::to_string(build);
  record.binary.id = "i" + std::to_string(build);
  record.created = "2026-01-" + std::to_string(10 + build) + "T00:00:00Z";
  record.verdict.rating = "stable";
  return record;
}

HistoryOptions options() { return {.metric = find_metric("median"), .least = 0.01, .by_commit = true}; }

std::string first_line(const PointAnswer& answer) { return answer.parts.front().line; }

TEST(History, MarksTheBuildThatChangedTheLevel) {
  std::vector<Record> records;
  for (int build = 0; build < 12; ++build) {
    for (const double noise : {0.0, 0.002, -0.002}) records.push_back(made(build, (build < 7 ? 1.0 : 0.9) + noise));
  }
  const std::vector<PointAnswer> answers = history_answers(RecordList(records), options());
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(first_line(answers[0]), "median -10.0 % at c7 (2026-01-17T00:00:00Z): better; 1 change over 12 builds");
  EXPECT_NEAR(answers[0].findings[0].number("change"), -0.1, 1e-12);
  const Table table = answers[0].parts.back().table;
  ASSERT_EQ(table.rows.size(), 12U);
  EXPECT_EQ(table.rows[7].cells[2].value, 3);
  EXPECT_NEAR(table.rows[7].cells[4].value.get<double>(), -0.1, 1e-12);
  EXPECT_TRUE(table.rows[6].cells[4].value.is_null());
}

TEST(History, MergesRecordsOfARecurringBuild) {
  const std::vector<Record> records{made(0, 1.0), made(1, 2.0), made(0, 1.2)};
  const Table table = history_answers(RecordList(records), options()).at(0).parts.back().table;
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].cells[1].value, "c0");
  EXPECT_EQ(table.rows[0].cells[2].value, 2);
  EXPECT_NEAR(table.rows[0].cells[3].value.get<double>(), 1.1, 1e-12);
  EXPECT_EQ(table.rows[1].cells[2].value, 1);
}

TEST(History, ComparesSingleRecordsOnRequest) {
  const std::vector<Record> records(8, made(0, 1.0));
  HistoryOptions each = options();
  each.by_commit = false;
  EXPECT_EQ(first_line(history_answers(RecordList(records), each)[0]), "median over 8 records: no change of level");
  size_t single = 0;
  EXPECT_TRUE(history_answers(RecordList(records), options(), &single).empty());
  EXPECT_EQ(single, 1U);
}

TEST(History, SeparatesPointsMachinesAndArithmetic) {
  std::vector<Record> records{made(0, 1), made(1, 1), made(0, 2, "step/model:large"), made(1, 2, "step/model:large")};
  records.push_back(made(2, 1));
  records.back().fingerprint = "another";
  records.push_back(made(2, 1));
  records.back().math_mode = "bfloat16";
  records.push_back(made(2, 1));
  records.back().status = Status::kTimeout;
  const std::vector<PointAnswer> answers = history_answers(RecordList(records), options());
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].parts.back().table.rows.size(), 2U);
  EXPECT_EQ(first_line(answers[0]), "median over 2 builds: too few to find a change");
}

TEST(History, SeparatesRecordsThatDifferInAnOption) {
  std::vector<Record> records;
  for (int build = 0; build < 12; ++build) {
    Record one = made(build, 2);
    one.config.json()["threads"] = 1;
    Record two = made(build, 1);
    two.config.json()["threads"] = 2;
    // The stopping rule chose `steps`, and a budget does not change a step, so neither separates records.
    for (Record* const record : {&one, &two}) {
      record->stopping.rule = "interval";
      record->config.json()["steps"] = 5 + build;
      record->config.json()["budget"] = build;
    }
    if (build > 6) two.config.json()["seed"] = 1;  // the default of an option that older builds lack
    records.insert(records.end(), {one, two});
  }
  const std::vector<PointAnswer> answers = history_answers(RecordList(records), options());
  ASSERT_EQ(answers.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(answers[i].name, fmt::format("step/model:small/threads:{}", i + 1));
    EXPECT_EQ(answers[i].findings[0].number("figures"), 12);
    EXPECT_EQ(answers[i].findings[0].number("changes"), 0);
  }
}

TEST(History, SeparatesRecordsWithDifferentRequestedSteps) {
  std::vector<Record> records;
  for (int build = 0; build < 4; ++build) {
    records.push_back(made(build, 1));
    records.back().stopping.rule = "fixed";
    records.back().config.json()["steps"] = build < 2 ? 5 : 10;
  }
  EXPECT_EQ(history_answers(RecordList(records), options()).size(), 2U);
}

}  // namespace
}  // namespace laptime
