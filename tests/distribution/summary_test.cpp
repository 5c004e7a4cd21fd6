// All statistics of one list of samples.
#include "distribution/summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "distribution/bootstrap.h"
#include "distribution/moments.h"
#include "random_samples.h"

namespace laptime {
namespace {

TEST(Summary, MatchesHandComputedValues) {
  const Summary summary = summarize(std::vector<double>{4, 9, 2, 5, 4, 7, 5, 4});
  EXPECT_EQ(summary.count, 8);
  EXPECT_DOUBLE_EQ(summary.mean, 5);
  EXPECT_DOUBLE_EQ(summary.median, 4.5);
  EXPECT_DOUBLE_EQ(*summary.std, std::sqrt(32.0 / 7.0));
  EXPECT_DOUBLE_EQ(*summary.std_population, 2);
  EXPECT_EQ(summary.min, 2);
  EXPECT_EQ(summary.max, 9);
  EXPECT_DOUBLE_EQ(summary.total, 40);
  EXPECT_DOUBLE_EQ(*summary.mad, 0.5);  // distances 0.5 4.5 2.5 0.5 0.5 2.5 0.5 0.5
  EXPECT_DOUBLE_EQ(*summary.p10, 3.4);  // position 0.7 of 2 4 4 4 5 5 7 9
  EXPECT_DOUBLE_EQ(*summary.p90, 7.6);  // position 6.3
  EXPECT_LE(summary.min, *summary.ci_low);
  EXPECT_LE(*summary.ci_low, summary.median);
  EXPECT_LE(summary.median, *summary.ci_high);
  EXPECT_LE(*summary.ci_high, summary.max);
  EXPECT_EQ(summary.modes.size(), 1U);
}

TEST(Summary, OneSampleHasNoDeviationOrInterval) {
  const Summary summary = summarize(std::vector<double>{0.75});
  EXPECT_EQ(summary.count, 1);
  EXPECT_EQ(summary.mean, 0.75);
  EXPECT_EQ(summary.median, 0.75);
  EXPECT_FALSE(summary.std.has_value());
  EXPECT_EQ(summary.std_population, 0);
  EXPECT_FALSE(summary.ci_low.has_value());
  EXPECT_FALSE(summary.ci_high.has_value());
  EXPECT_EQ(summary.mad, 0);
  EXPECT_EQ(summary.p10, 0.75);
  EXPECT_EQ(summary.p90, 0.75);
}

TEST(Summary, EqualSamplesHaveNoSpread) {
  const Summary summary = summarize(std::vector<double>(12, 0.1));
  for (const double value : {summary.mean, summary.median, summary.min, summary.max, *summary.p10, *summary.p90,
                             *summary.ci_low, *summary.ci_high}) {
    EXPECT_EQ(value, 0.1);
  }
  for (const double value : {*summary.std, *summary.std_population, *summary.mad}) {
    EXPECT_EQ(value, 0);
  }
  EXPECT_TRUE(summary.outliers.empty());
}

TEST(Summary, RejectsEmptyInputAndNonFiniteSamples) {
  EXPECT_THROW(summarize({}), Error);
  EXPECT_THROW(summarize(std::vector<double>{1, 2, std::numeric_limits<double>::quiet_NaN()}), Error);
  EXPECT_THROW(summarize(std::vector<double>{std::numeric_limits<double>::infinity()}), Error);
}

std::vector<double> figures(const Summary& s) {
  return {s.mean, s.median, *s.std, *s.std_population, s.min, s.max, s.total, *s.mad, *s.p10, *s.p90};
}

TEST(Summary, DoesNotDependOnTheOrder) {
  RandomSamples random(7);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> samples = random.normals(6 + trial, 3, 1);
    const Summary before = summarize(samples);
    const double correlation_before = lag1_autocorrelation(samples, before.mean);
    for (size_t i = samples.size() - 1; i > 0; --i) {
      std::swap(samples[i], samples[static_cast<size_t>(random.uniform() * static_cast<double>(i + 1))]);
    }
    const Summary after = summarize(samples);
    const double correlation_after = lag1_autocorrelation(samples, after.mean);
    EXPECT_EQ(figures(before), figures(after)) << trial;
    EXPECT_EQ(before.modes.size(), after.modes.size());
    EXPECT_EQ(before.outliers.size(), after.outliers.size());
    const bool independent = std::max(correlation_before, correlation_after) <= kBlockBootstrapAbove;
    if (independent) {
      EXPECT_EQ(before.ci_low, after.ci_low);
      EXPECT_EQ(before.ci_high, after.ci_high);
    }
  }
}

TEST(Summary, ScalesWithTheUnit) {
  RandomSamples random(8);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<double> samples = random.normals(30, 3, 1);
    const Summary seconds = summarize(samples);
    for (double& sample : samples) sample *= 0x1p10;  // scaling by a power of two does not change any rounding
    const Summary scaled = summarize(samples);
    std::vector<double> expected = figures(seconds);
    for (double& value : expected) value *= 0x1p10;
    EXPECT_EQ(figures(scaled), expected);
    EXPECT_EQ(*scaled.ci_low, 0x1p10 * *seconds.ci_low);
    EXPECT_EQ(*scaled.ci_high, 0x1p10 * *seconds.ci_high);
    EXPECT_EQ(scaled.modes.size(), seconds.modes.size());
    EXPECT_EQ(scaled.outliers, seconds.outliers);
  }
}

TEST(Summary, StatisticsAreOrderedForAnySamples) {
  RandomSamples random(9);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> samples = random.normals(2 + trial % 40, 0, 3);
    for (double& sample : samples) sample = std::exp(sample);
    const Summary s = summarize(samples);
    const std::vector<double> rising{s.min, *s.p10, s.median, *s.p90, s.max};
    EXPECT_TRUE(std::is_sorted(rising.begin(), rising.end()));
    EXPECT_EQ(s.ci_low.has_value(), s.count >= kFewestForInterval);
    const std::vector<double> interval{s.min, s.ci_low.value_or(s.min), s.ci_high.value_or(s.max), s.max};
    EXPECT_TRUE(std::is_sorted(interval.begin(), interval.end()));
    EXPECT_LE(s.min, s.mean);
    EXPECT_LE(s.mean, s.max);
    EXPECT_LE(*s.std_population, *s.std);
    EXPECT_LE(*s.mad, s.max - s.min);
  }
}

TEST(Summary, FieldsHaveTheirUnits) {
  const Summary summary = summarize(std::vector<double>{1, 2});
  std::string keys;
  Summary::visit_fields(summary, [&](const Key& key, const auto&) {
    keys += std::string(key.name) + (key.unit == Unit::kSeconds ? "/s " : " ");
  });
  EXPECT_EQ(keys,
            "count mean/s median/s std/s std_population/s min/s max/s total/s mad/s p10/s p90/s ci_low/s ci_high/s "
            "modes outliers ");
}

}  // namespace
}  // namespace laptime
