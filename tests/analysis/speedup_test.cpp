// Speedups: the compared rows, their baseline, and the interval of the ratio.
#include "analysis/speedup.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "report/stored_records.h"

namespace laptime {
namespace {

Speedups speedups_of(const std::vector<Record>& records) {
  Speedups speedups;
  for (const Record& record : records) speedups.plan(record, record.run);
  for (const Record& record : records) speedups.add(record);
  return speedups;
}

double value_of(const std::optional<Speedup>& speedup) { return speedup ? speedup->value : -1; }

Record with(Record record, const char* key, const Json& value, double median) {
  record.config.json()[key] = value;
  record.time["step"].median = median;
  return record;
}

TEST(Speedup, ComparesWithTheFloat32EagerBaseline) {
  std::vector<Record> records = stored_records();
  const Speedups speedups = speedups_of(records);
  EXPECT_NEAR(value_of(speedups.speedup(records[1], "")), 1.3343 / 0.7330, 1e-12);
  EXPECT_NEAR(value_of(speedups.speedup(records[1], "forward")), 0.4021 / 0.2011, 1e-12);
  EXPECT_EQ(value_of(speedups.speedup(records[0], "")), 1.0);
  EXPECT_EQ(speedups.speedup(records[0], "")->interval.high, 1.0);  // the baseline itself
  EXPECT_FALSE(speedups.speedup(records[4], ""));                   // no float32 eager point of this model
  EXPECT_FALSE(speedups.speedup(records[5], ""));                   // this record is not ok
  EXPECT_EQ(speedups.descriptions(), std::vector<std::string>{"float32"});

  records[1].fingerprint = "another machine";
  EXPECT_FALSE(speedups.speedup(records[1], ""));
}

TEST(Speedup, ComparesOnlyPointsOfEqualWork) {
  const Record record = stored_records()[0];
  const std::vector<Record> threads{with(record, "threads", 1, 40.9), with(record, "threads", 2, 21.8)};
  EXPECT_EQ(speedups_of(threads).descriptions(), std::vector<std::string>{"threads 1"});
  EXPECT_NEAR(value_of(speedups_of(threads).speedup(threads[1], "")), 40.9 / 21.8, 1e-12);
  const std::vector<Record> contexts{record, with(record, "context_length", 512, 2)};
  EXPECT_FALSE(speedups_of(contexts).any());
  EXPECT_FALSE(speedups_of(contexts).speedup(contexts[1], ""));
}

TEST(Work, DependsOnTheModelAndNotOnHowAStepIsComputed) {
  const Record record = stored_records()[0];
  const std::string work = work_of(record);
  for (const char* const key : {"projections", "weight_tie"}) {
    EXPECT_NE(work_of(with(record, key, true, 1)), work) << key;
    EXPECT_EQ(work_of(with(record, key, nullptr, 1)), work_of(with(record, key, false, 1))) << key;
  }
  EXPECT_NE(work_of(with(record, "causal", false, 1)), work);
  EXPECT_EQ(work_of(with(record, "causal", nullptr, 1)), work_of(with(record, "causal", true, 1)));
  EXPECT_NE(work_of(with(record, "num_kv_heads", 1, 1)), work);
  EXPECT_EQ(work_of(with(record, "threads", 7, 1)), work);
  for (const char* const key : {"projections", "weight_tie", "causal", "num_kv_heads", "head_dim", "pass"})
    EXPECT_TRUE(is_work_option(key)) << key;
  EXPECT_FALSE(is_work_option("threads"));
}

TEST(Speedup, ComparesStepsThatSplitTheSameBatchDifferently) {
  const Record record = stored_records()[0];
  const std::vector<Record> ranks{with(with(record, "ranks", 1, 3), "threads", 2, 3),
                                  with(with(record, "ranks", 2, 2), "threads", 1, 2)};
  EXPECT_EQ(speedups_of(ranks).descriptions(), std::vector<std::string>{"ranks 1"});
  EXPECT_NEAR(value_of(speedups_of(ranks).speedup(ranks[1], "")), 1.5, 1e-12);
  Speedups planned;  // without the numbers of threads, which depend on the ranks
  for (Record point : ranks) {
    point.config.json()["threads"] = nullptr;
    planned.plan(point, "");
  }
  for (const Record& one : ranks) planned.add(one);
  EXPECT_NEAR(value_of(planned.speedup(ranks[1], "")), 1.5, 1e-12);
  for (const char* const key : {"shard", "bucket", "micro_batches"}) {
    const std::vector<Record> records{with(record, key, "1", 3), with(record, key, "2", 2)};
    EXPECT_NEAR(value_of(speedups_of(records).speedup(records[1], "")), 1.5, 1e-12) << key;
  }
  const std::vector<Record> batches{ranks[0], with(ranks[1], "batch_size", 8, 2)};
  EXPECT_FALSE(speedups_of(batches).speedup(batches[1], ""));
}

TEST(Speedup, BaselineIsAlwaysAPointOfTheRun) {
  const Record record = stored_records()[0];
  const Record float16 = with(with(record, "dtype", "float16", 2), "loss_scale", "dynamic", 2);
  const std::vector<Record> scaled{with(record, "loss_scale", "none", 3), float16};
  EXPECT_EQ(speedups_of(scaled).descriptions(), std::vector<std::string>{"float32"});
  EXPECT_NEAR(value_of(speedups_of(scaled).speedup(float16, "")), 1.5, 1e-12);
  const Record compiled = with(record, "mode", "compile", 3);
  const std::vector<Record> modes{compiled, with(compiled, "dtype", "bfloat16", 2),
                                  with(record, "dtype", "bfloat16", 6)};
  EXPECT_EQ(speedups_of(modes).descriptions(), std::vector<std::string>{"float32 compile"});
  EXPECT_NEAR(value_of(speedups_of(modes).speedup(modes[2], "")), 0.5, 1e-12);
}

TEST(Speedup, DoesNotDependOnTheOrderOfRows) {
  std::vector<Record> records = stored_records();
  const double forwards = value_of(speedups_of(records).speedup(records[1], ""));
  std::swap(records[0], records[1]);
  EXPECT_EQ(value_of(speedups_of(records).speedup(records[0], "")), forwards);
}

TEST(Speedup, DetectsBaselinesThatComeAfterTheirRows) {
  const auto are_late = [](const std::vector<const char*>& modes) {
    Speedups speedups;
    for (const char* const mode : modes) {
      for (const int context : {128, 256}) {
        Record record = with(stored_records()[0], "mode", mode, 1);
        record.config.json()["context_length"] = context;
        record.run.clear();
        speedups.plan(record, "");
      }
    }
    return speedups.are_late();
  };
  EXPECT_FALSE(are_late({"eager", "compile"}));
  EXPECT_TRUE(are_late({"compile", "eager"}));
  EXPECT_FALSE(are_late({"compile"}));
}

TEST(Speedup, DoesNotDependOnTheOrderOfKeys) {
  std::vector<Record> records = stored_records();
  const double forwards = value_of(speedups_of(records).speedup(records[1], ""));
  Json::Object& members = records[1].config.json().items();
  std::reverse(members.begin(), members.end());
  EXPECT_EQ(value_of(speedups_of(records).speedup(records[1], "")), forwards);
}

TEST(Speedup, ComparesOnlyWithinARun) {
  std::vector<Record> records = stored_records();
  Record other = records[0];
  other.run = "another run";
  other.time["step"].median = 7.33;
  records.push_back(other);
  EXPECT_NEAR(value_of(speedups_of(records).speedup(records[1], "")), 1.3343 / 0.7330, 1e-12);
  records[1].run = other.run;
  EXPECT_NEAR(value_of(speedups_of(records).speedup(records[1], "")), 10.0, 1e-12);
  records[1].run = "a third run";
  EXPECT_FALSE(speedups_of(records).speedup(records[1], ""));
}

TEST(Speedup, IsReportedForEveryVerdict) {
  std::vector<Record> records = stored_records();
  records.resize(2);
  for (const char* const rating : {"stable", "noisy", "untested", "unstable", "no_steady_state"}) {
    records[1].verdict.rating = rating;
    const std::optional<Speedup> speedup = speedups_of(records).speedup(records[1], "");
    ASSERT_TRUE(speedup) << rating;
    EXPECT_NEAR(speedup->value, 1.3343 / 0.7330, 1e-12) << rating;
    EXPECT_LT(speedup->interval.low, speedup->value) << rating;
    EXPECT_GT(speedup->interval.high, speedup->value) << rating;
  }
}

TEST(Speedup, NeverComparesMeasuredWithPredictedTimes) {
  std::vector<Record> records = stored_records();
  records.resize(2);
  records[0].verdict.rating = kPredicted;
  EXPECT_FALSE(speedups_of(records).speedup(records[1], ""));
  records[1].verdict.rating = kPredicted;
  const std::optional<Speedup> speedup = speedups_of(records).speedup(records[1], "");
  ASSERT_TRUE(speedup);
  EXPECT_EQ(speedup->interval.low, speedup->interval.high);  // predictions have no uncertainty
}

TEST(Speedup, EnoughSamplesGiveABootstrapInterval) {
  const TimeStats slow = make_time_stats(std::vector<double>{2.0, 2.1, 1.9, 2.0, 2.05, 1.95, 2.0});
  const TimeStats fast = make_time_stats(std::vector<double>{1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0});
  const std::optional<Speedup> speedup = speedup_of(slow, fast);
  ASSERT_TRUE(speedup);
  EXPECT_LT(speedup->interval.low, 2);
  EXPECT_GT(speedup->interval.high, 2);
  EXPECT_GT(speedup->interval.low, 1.7);
  EXPECT_LT(speedup->interval.high, 2.4);
}

TEST(Speedup, FewSamplesGiveAWiderInterval) {
  const auto stats = [](std::vector<double> samples) { return make_time_stats(samples); };
  const std::optional<Speedup> three = speedup_of(stats({2, 2.1, 1.9}), stats({1, 1.05, 0.95}));
  ASSERT_TRUE(three);
  EXPECT_LT(three->interval.low, 1.8);
  EXPECT_GT(three->interval.high, 2.2);
  const std::optional<Speedup> one = speedup_of(stats({2}), stats({1}));
  ASSERT_TRUE(one);
  EXPECT_LT(one->interval.low, 1);  // the interval includes 1, so neither side is known to be faster
}

TEST(Speedup, UncertaintyOfFewSamplesFollowsStudentsT) {
  EXPECT_FALSE(uncertainty_of(make_time_stats(std::vector<double>{1})));
  // 2 samples: 12.71 * std / sqrt(2) / mean, std = 0.1 * sqrt(2) / 2
  EXPECT_NEAR(*uncertainty_of(make_time_stats(std::vector<double>{0.95, 1.05})), 12.71 * 0.05, 1e-9);
}

TEST(Speedup, IsUnknownIfATimeIsUnknown) {
  const TimeStats known = make_time_stats(std::vector<double>{2, 2.1, 1.9});
  for (const double unknown : {std::nan(""), HUGE_VAL, 0.0, -1.0}) {
    TimeStats time = known;
    time.median = unknown;
    EXPECT_FALSE(uncertainty_of(time)) << unknown;
    EXPECT_FALSE(speedup_of(known, time)) << unknown;
    EXPECT_FALSE(speedup_of(time, known)) << unknown;
  }
}

}  // namespace
}  // namespace laptime
