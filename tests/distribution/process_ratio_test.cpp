// Tests process_ratio against hand-computed values, and checks its false-positive rate when processes of the same
// program differ.
#include "distribution/process_ratio.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "distribution/paired_ratio.h"
#include "random_samples.h"

namespace laptime {
namespace {

using Side = std::vector<std::vector<double>>;

TEST(ProcessRatio, StudentsTMatchesTheTables) {
  EXPECT_NEAR(two_sided_t(0.05, 1), 12.706, 1e-3);
  EXPECT_NEAR(two_sided_t(0.01, 2), 9.925, 1e-3);
  EXPECT_NEAR(two_sided_t(0.01, 5), 4.032, 1e-3);
  EXPECT_NEAR(two_sided_t(0.05, 10), 2.228, 1e-3);
  EXPECT_NEAR(two_sided_t(0.001, 9), 4.781, 1e-3);
}

TEST(ProcessRatio, IsTheMedianOverAllPairsOfProcesses) {
  const Side a{{1, 1, 1}, {2, 2, 2}, {4, 4, 4}};
  const Side b{{3, 3, 3}, {6, 6, 6}, {12, 12, 12}};
  EXPECT_NEAR(process_ratio(a, b, 0.01)->ratio, 3, 1e-12);
}

TEST(ProcessRatio, HasNoIntervalFromTooFewSamplesOrProcesses) {
  EXPECT_FALSE(process_ratio(Side{{1, 1, 1, 1, 1}}, Side{{2, 2, 2, 2, 2}}, 0.01)->interval);
  EXPECT_TRUE(process_ratio(Side{{1, 1, 1}, {1, 1, 1}}, Side{{2, 2, 2}, {2, 2, 2}}, 0.01)->interval);
  EXPECT_TRUE(process_ratio(Side{{1}, {1}, {1}}, Side{{2}, {2}, {2}}, 0.01)->interval);
}

TEST(ProcessRatio, HasNoValueForMissingOrInvalidTimes) {
  const Side times{{1, 1, 1}};
  for (const Side& wrong : {Side{}, Side{{}}, Side{{0, 1}}, Side{{1, -1}}, Side{{std::nan("")}},
                            Side{{std::numeric_limits<double>::infinity()}}}) {
    EXPECT_FALSE(process_ratio(times, wrong, 0.01));
    EXPECT_FALSE(process_ratio(wrong, times, 0.01));
  }
}

// One process provides no information about others, so its many samples do not narrow the interval.
TEST(ProcessRatio, ManySamplesOfOneProcessDoNotNarrowTheInterval) {
  RandomSamples random(3);
  const auto width = [&](int64_t samples) {
    const Side a{random.normals(samples, 1, 0.05)};
    const Side b{random.normals(samples, 1, 0.05)};
    const Interval interval = *process_ratio(a, b, 0.01)->interval;
    return interval.high / interval.low - 1;
  };
  EXPECT_GT(width(500), 0.7 * width(50));
}

// Share of comparisons that report a difference if the processes of B take `slower` times as long as those of A.
double share_called_different(int64_t processes, const std::function<double(RandomSamples&)>& level, double slower,
                              double error) {
  constexpr int kComparisons = 150;
  RandomSamples random(11);
  const auto side = [&](double factor) {
    Side made;
    for (int64_t i = 0; i < processes; ++i) {
      const double centre = factor * std::exp(level(random));
      std::vector<double> samples;
      for (int k = 0; k < 15; ++k)
        samples.push_back(centre * (1 + 0.02 * std::fabs(random.normal()) + (random.uniform() < 0.05 ? 0.3 : 0.0)));
      made.push_back(std::move(samples));
    }
    return made;
  };
  int called = 0;
  for (int i = 0; i < kComparisons; ++i) {
    const Side a = side(1);
    const Difference found = difference_of(process_ratio(a, side(slower), error)->interval, 0.01);
    called += found == Difference::kSlower || found == Difference::kFaster ? 1 : 0;
  }
  return called / static_cast<double>(kComparisons);
}

TEST(ProcessRatio, SlowRarelyCallsEqualProgramsDifferent) {
  const auto normal = [](RandomSamples& random) { return 0.03 * random.normal(); };
  const auto disturbed = [](RandomSamples& random) {
    return 0.01 * random.normal() + (random.uniform() < 0.2 ? 0.3 : 0.0);
  };
  const auto two_levels = [](RandomSamples& random) {  // as if each process chose one of two kernels
    return 0.005 * random.normal() + (random.uniform() < 0.5 ? 0.1 : 0.0);
  };
  for (const int64_t processes : {3, 6}) {
    EXPECT_LE(share_called_different(processes, normal, 1, 0.01), 0.02) << processes;
    EXPECT_LE(share_called_different(processes, disturbed, 1, 0.01), 0.02) << processes;
    EXPECT_LE(share_called_different(processes, two_levels, 1, 0.01), 0.05) << processes;
  }
}

TEST(ProcessRatio, SlowFindsADifferenceLargerThanTheNoise) {
  const auto normal = [](RandomSamples& random) { return 0.01 * random.normal(); };
  EXPECT_GE(share_called_different(6, normal, 1.05, 0.01), 0.95);
}

}  // namespace
}  // namespace laptime
