// Trust: the indicators of reliability that are shown with a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "record/time_stats.h"

namespace laptime {
namespace {

Record record_of(const std::vector<double>& samples, const std::string& rating) {
  Record record;
  record.config.json()["pass"] = "step";
  record.time["step"] = make_time_stats(samples);
  record.verdict.rating = rating;
  record.binary.build_type = "Release";
  return record;
}

const std::vector<double> kCalm{1.00, 1.01, 0.99, 1.00, 1.02, 0.98, 1.00, 1.01, 0.99, 1.00};

TEST(Trust, HasTheHalfWidthOfTheInterval) {
  const Record record = record_of(kCalm, "noisy");
  const Trust trust = trust_of(record).value();
  const TimeStats& time = record.time.at("step");
  EXPECT_DOUBLE_EQ(trust.within.value(), std::max(*time.ci_high - time.median, time.median - *time.ci_low));
  EXPECT_TRUE(trust.is_good());
}

TEST(Trust, WideIntervalIsNotGood) {
  const Trust trust = trust_of(record_of({1, 1.3, 0.8, 1.2, 0.9, 1.25, 0.85, 1.3}, "unstable")).value();
  EXPECT_GT(trust.within.value(), kTrustedWithin);
  EXPECT_FALSE(trust.is_good());
  EXPECT_FALSE(trust.is_meaningless);
}

TEST(Trust, FewSamplesAreNotGood) {
  const Trust trust = trust_of(record_of({1, 1, 1, 1, 1}, "untested")).value();
  EXPECT_FALSE(trust.within.has_value());
  EXPECT_TRUE(trust.has_few_samples);
  EXPECT_FALSE(trust.is_good());
}

TEST(Trust, BusyMachineIsNotGood) {
  Record record = record_of(kCalm, "unstable");
  record.verdict.lost = 0.7;
  record.verdict.lost_to = "waiting for a core";
  const Trust trust = trust_of(record).value();
  EXPECT_TRUE(trust.is_busy);
  EXPECT_FALSE(trust.is_meaningless);
  EXPECT_FALSE(trust.is_good());
  record.verdict.lost = 0.05;
  EXPECT_TRUE(trust_of(record)->is_good());
}

TEST(Trust, DriftAndDebugBuildAreNotGood) {
  EXPECT_TRUE(trust_of(record_of(kCalm, "no_steady_state"))->drifts);
  Record record = record_of(kCalm, "unstable");
  record.binary.build_type = "Debug";
  EXPECT_TRUE(trust_of(record)->is_meaningless);
  EXPECT_FALSE(trust_of(record)->is_good());
}

TEST(Trust, IsAbsentForPredictionsAndFailures) {
  EXPECT_FALSE(trust_of(record_of(kCalm, "predicted")).has_value());
  EXPECT_FALSE(trust_of(Record{}).has_value());
}

}  // namespace
}  // namespace laptime
