// Which rows are compared, with which baseline, and how the ratio is shown.
#include "report/speedup.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/columns.h"
#include "report/filter.h"
#include "report/markdown.h"
#include "report/stored_records.h"
#include "report/table.h"

namespace laptime {
namespace {

using testing::HasSubstr;

double value_of(const std::optional<TimeRatio>& ratio) { return ratio ? ratio->value : -1; }

TEST(Speedup, ComparesWithFloat32EagerOfTheSamePoint) {
  std::vector<Record> records = stored_records();
  const Baselines baselines(records);
  EXPECT_NEAR(value_of(baselines.speedup(records[1], "")), 1.3343 / 0.7330, 1e-12);
  EXPECT_NEAR(value_of(baselines.speedup(records[1], "forward")), 0.4021 / 0.2011, 1e-12);
  EXPECT_EQ(value_of(baselines.speedup(records[0], "")), 1.0);
  EXPECT_FALSE(baselines.speedup(records[0], "")->interval);  // compared with itself
  EXPECT_FALSE(baselines.speedup(records[4], ""));            // no float32 eager point of this model
  EXPECT_FALSE(baselines.speedup(records[5], ""));            // not ok
  EXPECT_EQ(baselines.descriptions(), std::vector<std::string>{"float32"});

  records[1].fingerprint = "another machine";
  EXPECT_FALSE(baselines.speedup(records[1], ""));
}

Record with(Record record, const char* key, const Json& value, double median) {
  record.config.json()[key] = value;
  record.time["step"].median = median;
  return record;
}

TEST(Speedup, HasTheBaselineOfWhatARunVaries) {
  const Record record = stored_records()[0];
  const std::vector<Record> records{with(record, "threads", 1, 40.9), with(record, "threads", 2, 21.8)};
  const std::string text = table(records, {.details = false}, "threads,median,speedup");
  EXPECT_THAT(text, HasSubstr("speedup vs threads:1"));
  EXPECT_THAT(text, HasSubstr("1.00x (baseline)"));
  EXPECT_THAT(text, HasSubstr("1.88x"));
  EXPECT_THAT(markdown(records, "threads,speedup"), HasSubstr("| threads | speedup vs threads:1 |"));
  const std::vector<Record> contexts{record, with(record, "context_length", 512, 2)};
  const Baselines none(contexts);  // rows of different work are not compared
  EXPECT_FALSE(none.speedup(contexts[1], ""));
  EXPECT_FALSE(none.speedup(contexts[0], ""));
}

TEST(Speedup, SaysWhyThereIsNone) {
  const Record record = stored_records()[0];
  Record baseline = with(record, "threads", 1, 40.9);
  Record other = with(record, "threads", 2, 21.8);
  const auto cell_of = [](const std::vector<Record>& records) {
    return table(records, {.details = false}, "threads,speedup");
  };
  const std::pair<Status, const char*> ends[] = {{Status::kOutOfMemory, "- (baseline too large)"},
                                                 {Status::kUnsupported, "- (baseline refused)"},
                                                 {Status::kInterrupted, "- (baseline partial)"},
                                                 {Status::kTimeout, "- (baseline timeout)"},
                                                 {Status::kFailed, "- (baseline failed)"}};
  for (const auto& [status, expected] : ends) {
    baseline.status = status;
    EXPECT_THAT(cell_of({baseline, other}), HasSubstr(expected));
  }
  baseline.status = Status::kOk;
  EXPECT_THAT(cell_of({baseline, other}), HasSubstr("1.88x"));
  Record elsewhere = other;
  elsewhere.config.json()["model"] = "large";
  EXPECT_THAT(cell_of({baseline, elsewhere}), HasSubstr("- (no baseline)"));
  other.verdict.rating = kPredicted;
  EXPECT_THAT(cell_of({baseline, other}), HasSubstr("- (predicted)"));
  const std::vector<Record> alone{record};
  EXPECT_EQ(Baselines(alone).why_no_speedup(record, ""), "");
  EXPECT_THAT(table(alone, {}, "default,speedup"), HasSubstr("no speedup: these rows do not vary in mode"));
  EXPECT_THAT(table(alone, {}), testing::Not(HasSubstr("no speedup")));
}

TEST(Speedup, HasOneBaselineInAnyOrderOfTheRows) {
  const Record record = stored_records()[0];
  std::vector<Record> rows{with(record, "threads", 10, 9), with(record, "threads", 2, 21.8),
                           with(record, "threads", 1, 40.9)};
  for (const char* const order : {"median", "median:desc", "threads", "threads:desc"}) {
    rows = sort_records(rows, order);
    const Baselines baselines(rows);
    EXPECT_EQ(baselines.descriptions(), std::vector<std::string>{"threads:1"}) << order;
    for (const Record& row : rows)
      EXPECT_NEAR(value_of(baselines.speedup(row, "")), 40.9 / row.time.at("step").median, 1e-12) << order;
  }
  const std::vector<Record> recomputing{with(record, "recompute", "block", 3), with(record, "recompute", "none", 2)};
  EXPECT_EQ(Baselines(recomputing).descriptions(), std::vector<std::string>{"recompute:none"});
}

TEST(Speedup, IsNotShownBesideAVerdictAgainstIt) {
  std::vector<Record> records = stored_records();
  records.resize(2);
  for (Record& record : records) record.time["step"].p90 = 2 * record.time["step"].median;
  const auto cell = [&](size_t row) {
    const Baselines baselines(records);
    return columns_of("speedup", baselines, RecordList({}))[0].cell(Row(records[row]), "");
  };
  for (const char* const rating : {"untested", "unstable"}) {
    records[0].verdict.rating = "stable";
    records[1].verdict.rating = rating;
    EXPECT_EQ(cell(1), fmt::format("- ({})", rating));
    EXPECT_EQ(cell(0), "1.00x (baseline)");
    records[0].verdict.rating = rating;
    records[1].verdict.rating = "noisy";
    EXPECT_EQ(cell(1), fmt::format("- (baseline {})", rating));
    EXPECT_EQ(cell(0), fmt::format("- (baseline {})", rating));
  }
  records[0].verdict.rating = "noisy";
  records[1].verdict.rating = "stable";
  // With five samples these are too few steps to test for a steady state.
  for (Record& record : records) record.config.json()["warmup"] = 1;
  EXPECT_EQ(cell(1), "- (baseline untested)");
  records[0].verdict.rating = "no_steady_state";
  EXPECT_EQ(cell(1), "- (baseline unsteady)");
  records[1].verdict.rating = "no_steady_state";
  EXPECT_EQ(cell(1), "- (no steady state)");
}

// A drift of a percent leaves no doubt that a step is twice as fast.
TEST(Speedup, IsRoughWhereItIsFarLargerThanTheDoubt) {
  std::vector<Record> records = stored_records();
  records.resize(2);
  const auto cell_of = [&](const std::vector<double>& slow, const std::vector<double>& fast) {
    records[0].time["step"] = make_time_stats(slow);
    records[1].time["step"] = make_time_stats(fast);
    return columns_of("speedup", Baselines(records), RecordList({}))[0].cell(Row(records[1]), "");
  };
  records[1].verdict.rating = "no_steady_state";
  const std::vector<double> drifting{1.000, 1.002, 1.004, 1.006, 1.008, 1.011};
  EXPECT_EQ(cell_of({2, 2, 2, 2, 2, 2}, drifting), "~1.99x");
  EXPECT_EQ(cell_of({1.02, 1.02, 1.02, 1.02, 1.02, 1.02}, drifting), "- (no steady state)");
  EXPECT_EQ(cell_of({2, 2, 2, 2, 2, 2}, {1.0, 1.1, 1.2, 1.3, 1.4, 1.5}), "- (no steady state)");
  EXPECT_EQ(cell_of({2, 2}, {1, 1}), "- (no steady state)");  // nothing is known of the spread
  EXPECT_EQ(cell_of({1, 1, 1, 1, 1, 1}, {3, 3, 3, 3, 3, 3}), "~0.33x");
  records[1].verdict.rating = "stable";
  records[0].verdict.rating = "untested";
  EXPECT_EQ(cell_of({2, 2, 2, 2, 2, 2}, drifting), "~1.99x");
  const Baselines baselines(records);
  EXPECT_FALSE(baselines.speedup(records[1], ""));        // files and filters take sure ratios alone
  EXPECT_FALSE(baselines.rough_speedup(records[0], ""));  // the baseline itself
  const std::string text = table(records, {.details = false}, "dtype,median,speedup,verdict");
  EXPECT_THAT(text, HasSubstr("~1.99x"));
  EXPECT_THAT(text,
              HasSubstr("where a verdict is against one of the two times of a row or phase, ~ marks a speedup that "
                        "is farther from 1 than 3 times the spread of both (10th to 90th percentile), and any other "
                        "gives way to the verdict; A and B measured in turn show it exactly:"));
}

// The speed-up of a phase is judged by the times of the phase, as that of the step is by the times of the step. The
// line below the table explains the marks in both.
TEST(Speedup, OfAPhaseIsRoughByTheSpreadOfThePhase) {
  std::vector<Record> records = stored_records();
  records.resize(2);
  records[1].verdict.rating = "no_steady_state";
  const std::vector<double> steady{2, 2, 2, 2, 2, 2};
  const std::vector<double> drifting{1.000, 1.002, 1.004, 1.006, 1.008, 1.011};
  const std::vector<double> spread{1.0, 1.1, 1.2, 1.3, 1.4, 1.5};
  for (const char* const time : {"step", "forward", "backward"}) {
    records[0].time[time] = make_time_stats(steady);
    records[1].time[time] = make_time_stats(drifting);
  }
  records[1].time["backward"] = make_time_stats(spread);
  const Baselines baselines(records);
  const Column column = columns_of("default,speedup", baselines, RecordList({})).back();
  EXPECT_EQ(column.cell(Row(records[1]), ""), "~1.99x");
  EXPECT_EQ(column.cell(Row(records[1]), "forward"), "~1.99x");
  EXPECT_EQ(column.cell(Row(records[1]), "backward"), "- (no steady state)");
  EXPECT_THAT(table(records, {}, "dtype,default,speedup"), HasSubstr("show it all the same:"));
  EXPECT_THAT(table(records, {}, "dtype,speedup"), HasSubstr("show it exactly:"));  // no phase is shown
}

TEST(Speedup, NeedsASteadyStateOnBothSidesAndOneKindOfTime) {
  std::vector<Record> records = stored_records();
  records.resize(2);
  records[1].verdict.rating = "no_steady_state";
  EXPECT_FALSE(Baselines(records).speedup(records[1], ""));
  const std::optional<TimeRatio> rough = Baselines(records).any_speedup(records[1], "");
  ASSERT_TRUE(rough);
  EXPECT_FALSE(rough->interval);
  records[1].verdict.rating = "stable";
  EXPECT_EQ(rough->value, Baselines(records).speedup(records[1], "")->value);
  EXPECT_TRUE(Baselines(records).speedup(records[1], ""));
  records[0].verdict.rating = "no_steady_state";
  EXPECT_FALSE(Baselines(records).speedup(records[1], ""));
  records[0].verdict.rating = kPredicted;
  EXPECT_FALSE(Baselines(records).speedup(records[1], ""));
  records[1].verdict.rating = kPredicted;
  EXPECT_TRUE(Baselines(records).speedup(records[1], ""));
}

TEST(Speedup, HasNoBaselineOfAnotherRun) {
  std::vector<Record> records = stored_records();
  Record other = records[0];
  other.run = "another run";
  other.time["step"].median = 7.33;
  records.push_back(other);
  EXPECT_NEAR(value_of(Baselines(records).speedup(records[1], "")), 1.3343 / 0.7330, 1e-12);
  records[1].run = other.run;
  EXPECT_NEAR(value_of(Baselines(records).speedup(records[1], "")), 10.0, 1e-12);
  records[1].run = "a third run";
  const Baselines baselines(records);
  EXPECT_FALSE(baselines.speedup(records[1], ""));
  EXPECT_EQ(columns_of("speedup", baselines, RecordList({}))[0].cell(Row(records[1]), ""), "-");
}

TEST(Speedup, HasAnIntervalWhereSamplesAreEnough) {
  std::vector<Record> records = stored_records();
  records[0].time["step"] = make_time_stats(std::vector<double>{2.0, 2.1, 1.9, 2.0, 2.05, 1.95, 2.0});
  records[1].time["step"] = make_time_stats(std::vector<double>{1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0});
  const Baselines baselines(records);
  const std::optional<TimeRatio> ratio = baselines.speedup(records[1], "");
  ASSERT_TRUE(ratio && ratio->interval);
  EXPECT_LT(ratio->interval->low, 2);
  EXPECT_GT(ratio->interval->high, 2);
  const std::vector<Column> columns = columns_of("speedup,speedup_low,speedup_high", baselines, RecordList({}));
  const Row row(records[1]);
  EXPECT_EQ(columns[0].cell(row, ""),
            fmt::format("2.00x ({:.2f} .. {:.2f})", ratio->interval->low, ratio->interval->high));
  EXPECT_EQ(columns[0].read(row, ""), Json(ratio->value));
  EXPECT_EQ(columns[1].read(row, ""), Json(ratio->interval->low));
  EXPECT_EQ(columns[2].read(row, ""), Json(ratio->interval->high));

  records[1].time["step"] = make_time_stats(std::vector<double>{1, 1, 1, 1, 1});
  EXPECT_EQ(columns[0].cell(Row(records[1]), ""), "2.00x");  // five samples have no interval
  EXPECT_TRUE(columns[1].read(Row(records[1]), "").is_null());
}

}  // namespace
}  // namespace laptime
