// Estimates for a whole training run (steps, time with an interval, energy, cost), their options, and the ratios of
// published runs.
#include "analysis/plan_findings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "support/error_of.h"

namespace laptime {
namespace {

Record measured(double seconds) {
  Record record;
  record.name = "step";
  record.config.json()["pass"] = "step";
  record.config.json()["batch_size"] = 4;
  record.config.json()["context_length"] = 256;
  record.time["step"].median = seconds;
  return record;
}

TEST(TrainingTime, CountsStepsAndSeconds) {
  const auto found = training_time(measured(0.5), {.tokens = 1e6});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->number("steps"), 977);  // 1024 tokens per step
  EXPECT_DOUBLE_EQ(found->number("time_s"), 488.5);
  EXPECT_FALSE(found->has("price"));
  EXPECT_EQ(found->trust, FindingTrust::kMeasured);
}

TEST(TrainingTime, CostIsHoursTimesHourlyPrice) {
  const auto found = training_time(measured(3.6), {.tokens = 1024e3, .price_per_hour = 2.5});
  ASSERT_TRUE(found.has_value());
  EXPECT_DOUBLE_EQ(found->number("price"), 2.5);
}

TEST(TrainingTime, CountsEpochsOfTheData) {
  Record record = measured(1);
  EXPECT_FALSE(training_time(record, {.epochs = 2}).has_value());
  record.data.tokens = 10'240;
  const auto found = training_time(record, {.epochs = 2});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->number("steps"), 20);
}

TEST(TrainingTime, OnlyAPlannedPointUsesItsPrediction) {
  Record record = measured(0);
  record.time.clear();
  record.prediction.time["step"] = 2;
  record.prediction.low = 1;
  record.prediction.high = 3;
  const std::vector<Finding> findings = plan_findings({.record = record}, {.tokens = 1024});
  const Finding* const found = find(findings, "training_time");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->number("low_s"), 1);
  EXPECT_EQ(found->number("high_s"), 3);
  EXPECT_EQ(found->trust, FindingTrust::kPredicted);
  record.status = Status::kTimeout;
  EXPECT_FALSE(training_time(record, {.tokens = 1024}).has_value()) << "a point that ran but has no time";
}

TEST(TrainingTime, DeviceModelTimesHaveThePredictionInterval) {
  Record record = measured(2);
  record.verdict.rating = kPredicted;
  record.prediction.low = 1;
  record.prediction.high = 3;
  const auto found = training_time(record, {.tokens = 1024});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->number("high_s"), 3);
  EXPECT_EQ(found->trust, FindingTrust::kPredicted);
}

TEST(TrainingTime, MeasuredTimeOmitsThePredictionInterval) {
  Record record = measured(2);
  record.prediction.low = 2.5;
  record.prediction.high = 3;
  const auto found = training_time(record, {.tokens = 1024});
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->has("low_s"));
}

TEST(TrainingTime, WholeNumberOfStepsIsNotRoundedUp) {
  for (int i = 1; i < 50; ++i)
    EXPECT_EQ(training_time(measured(0.1 / i), {.tokens = 1024e3})->number("steps"), 1000) << i;
}

TEST(TrainingTime, ReportsEnergyMeasuredByASensor) {
  Record record = measured(1);
  record.time["step"].total = 4;
  EXPECT_FALSE(training_time(record, {.tokens = 10'240})->has("kwh"));
  record.machine.json()["sensors"] = Json{{"joules_per_step", 720.0}};
  EXPECT_DOUBLE_EQ(training_time(record, {.tokens = 10'240})->number("kwh"), 10 * 720 / 3.6e6);
  record.config.json()["ranks"] = 2;  // the sensor measures only one of the devices
  EXPECT_DOUBLE_EQ(training_time(record, {.tokens = 10'240})->number("kwh"), 2 * 10 * 720 / 3.6e6);
}

TEST(TrainingTime, OmitsEnergyMeasuredOverAShortTime) {
  Record record = measured(0.0173);
  record.machine.json()["sensors"] = Json{{"joules_per_step", 16.35}};  // 947 W, more than the card can draw
  record.time["step"].total = 0.173;
  EXPECT_FALSE(training_time(record, {.tokens = 1e9})->has("kwh"));
  record.stopping.steps_per_sample = 20;
  EXPECT_TRUE(training_time(record, {.tokens = 1e9})->has("kwh"));
}

TEST(TrainingTime, NeedsATimedTrainingStep) {
  Record record = measured(1);
  record.config.json()["pass"] = "forward";
  EXPECT_FALSE(training_time(record, {.tokens = 1e6}).has_value());
  EXPECT_FALSE(training_time(Record(), {.tokens = 1e6}).has_value());
}

TEST(TokenCount, AcceptsUnitsAndRejectsMalformedText) {
  EXPECT_EQ(parse_token_count("--tokens", "10B"), 1e10);
  EXPECT_EQ(parse_token_count("--tokens", "3.5T"), 3.5e12);
  EXPECT_EQ(parse_token_count("--tokens", "1e9"), 1e9);
  EXPECT_EQ(parse_token_count("--tokens", "500M"), 5e8);
  EXPECT_EQ(parse_token_count("--tokens", "10b"), 1e10);
  for (const char* text : {"", "0", "-1", "B", "10X", "1e30", "nan", "inf", "10 B"})
    EXPECT_THROW(parse_token_count("--tokens", text), Error) << text;
  for (const char* text : {"0", "-1", "2e18", "2000000T"})
    EXPECT_THAT(test::error_of([&] { parse_token_count("--tokens", text); }), testing::HasSubstr("1 to 1e18"));
  EXPECT_EQ(parse_hourly_price("--price", "2.5/h"), 2.5);
  for (const char* text : {"", "free", "-1", "2/day", "nan"}) EXPECT_THROW(parse_hourly_price("--price", text), Error);
}

TEST(TrainingOptions, RejectIncompleteOrConflictingOptions) {
  TrainingOptions options;
  options.price = "1/h";
  EXPECT_THROW(options.budget(), Error);
  options.tokens = "1M";
  EXPECT_EQ(options.budget().tokens, 1e6);
  options.epochs = 1;
  EXPECT_THROW(options.budget(), Error);
}

TEST(PublishedBounds, MatchTheDocumentedTable) {
  std::ifstream file(LAPTIME_SOURCE_DIR "/docs/predictions.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const PublishedRatio& one : published_ratios()) {
    const std::string row = fmt::format("| {} | {} | {} | {:.2f} | {:.2f} to {:.2f} |", one.arithmetic, one.mode,
                                        one.times, one.median, one.low, one.high);
    EXPECT_NE(text.str().find(row), std::string::npos) << row;
  }
}

TEST(PublishedBounds, DependOnModeAndElementSize) {
  EXPECT_EQ(published_ratio("float16", "eager")->times, published_ratio("bfloat16", "eager")->times);
  EXPECT_EQ(published_ratio("float32", "compile")->high, 4.30);
  EXPECT_FALSE(published_ratio("float32", "fast").has_value());
}

}  // namespace
}  // namespace laptime
