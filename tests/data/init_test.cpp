// Initial weights: moments, truncation and tails of the distributions, independence, and ranges of a tensor.
#include "data/init.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace laptime {
namespace {

constexpr size_t kCount = 1 << 21;
const double kSigmaOfMean = 1 / std::sqrt(static_cast<double>(kCount));

double phi(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

struct Moments {
  double mean;
  double std;
  double lag1;  // autocorrelation at lag 1
};

Moments moments_of(const std::vector<float>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double variance = 0;
  double neighbours = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    variance += (values[i] - mean) * (values[i] - mean);
    if (i > 0) neighbours += (values[i] - mean) * (values[i - 1] - mean);
  }
  return {mean, std::sqrt(variance / n), neighbours / variance};
}

std::vector<float> normal(double std, const char* name = "w") {
  std::vector<float> values(kCount);
  fill_normal(Stream(3, name), 0, values, std);
  return values;
}

std::vector<float> truncated(double std, const char* name = "w") {
  std::vector<float> values(kCount);
  fill_truncated_normal(Stream(3, name), 0, values, std);
  return values;
}

// The largest distance between the empirical and the theoretical distribution (Kolmogorov-Smirnov), times sqrt(n).
template <class Cdf>
double kolmogorov(std::vector<float> values, Cdf cdf) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = cdf(values[i]);
    worst = std::max({worst, std::fabs(expected - static_cast<double>(i) / n),
                      std::fabs(expected - static_cast<double>(i + 1) / n)});
  }
  return worst * std::sqrt(n);
}

// Limit in standard deviations; one random stream in 150,000 exceeds it. The streams of these tests are fixed.
constexpr double kSigmas = 4.5;
constexpr double kKolmogorovLimit = 2.0;  // exceeded with probability 7e-4

TEST(Init, NormalHasTheExpectedMoments) {
  const Moments moments = moments_of(normal(1));
  EXPECT_LT(std::fabs(moments.mean), kSigmas * kSigmaOfMean);
  EXPECT_LT(std::fabs(moments.std - 1), kSigmas * kSigmaOfMean / std::sqrt(2.0));
  EXPECT_LT(std::fabs(moments.lag1), kSigmas * kSigmaOfMean);
}

TEST(Init, SlowFollowsTheNormalDistribution) { EXPECT_LT(kolmogorov(normal(1), phi), kKolmogorovLimit); }

TEST(Init, NormalTailsHaveTheExpectedCounts) {
  const std::vector<float> values = normal(1);
  for (const double z : {2.0, 3.0, 4.0}) {
    const auto beyond = [&](double sign) {
      return static_cast<double>(
          std::count_if(values.begin(), values.end(), [&](float value) { return sign * value > z; }));
    };
    const double expected = phi(-z) * static_cast<double>(kCount);
    EXPECT_LT(std::fabs(beyond(1) - expected), kSigmas * std::sqrt(expected)) << z;
    EXPECT_LT(std::fabs(beyond(-1) - expected), kSigmas * std::sqrt(expected)) << -z;
  }
}

// Values are drawn by inverting the distribution function, so each magnitude must be the quantile that the random bits
// select.
TEST(Init, NormalValuesAreQuantilesOfTheRandomBits) {
  const Stream stream(3, "w");
  const std::vector<float> values = normal(1);
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t bits = stream[static_cast<int64_t>(i)];
    const double p = (static_cast<double>(bits >> 33U) + 0.5) * 0x1p-32;
    worst = std::max(worst, std::fabs(phi(-std::fabs(values[i])) - p) / p);
    ASSERT_EQ(std::signbit(values[i]), ((bits >> 32U) & 1U) != 0) << i;
  }
  EXPECT_LT(worst, 1e-5);
}

TEST(Init, TruncatedNormalEndsAtThreeStd) {
  for (const double std : {1.0, 0.02, 0.0360843918}) {
    const std::vector<float> values = truncated(std);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const float cut = 3 * static_cast<float>(std);
    EXPECT_GE(*least, -cut);
    EXPECT_LE(*most, cut);
    EXPECT_LT(*least, -0.999F * cut);
    EXPECT_GT(*most, 0.999F * cut);
  }
}

TEST(Init, SlowFollowsTheTruncatedNormalDistribution) {
  const std::vector<float> values = truncated(1);
  const Moments moments = moments_of(values);
  const double density = std::exp(-4.5) / std::sqrt(2 * M_PI);
  const double inside = phi(3) - phi(-3);
  const double expected_std = std::sqrt(1 - 6 * density / inside);  // 0.98658
  EXPECT_LT(std::fabs(moments.mean), kSigmas * kSigmaOfMean);
  EXPECT_LT(std::fabs(moments.std - expected_std), kSigmas * kSigmaOfMean / std::sqrt(2.0));
  EXPECT_LT(std::fabs(moments.lag1), kSigmas * kSigmaOfMean);
  EXPECT_LT(kolmogorov(values, [&](double z) { return (phi(z) - phi(-3)) / inside; }), kKolmogorovLimit);
}

TEST(Init, StdOnlyScalesTheValues) {
  const std::vector<float> one = truncated(1);
  const std::vector<float> small = truncated(0.25);
  for (size_t i = 0; i < one.size(); i += 1000) EXPECT_EQ(small[i], 0.25F * one[i]);
}

TEST(Init, ParametersAreIndependent) {
  const std::vector<float> a = normal(1, "a");
  const std::vector<float> b = normal(1, "b");
  double product = 0;
  for (size_t i = 0; i < kCount; ++i) product += static_cast<double>(a[i]) * b[i];
  EXPECT_LT(std::fabs(product / static_cast<double>(kCount)), kSigmas * kSigmaOfMean);
}

TEST(Init, AnyRangeMatchesTheWholeTensor) {
  ModelConfig model;
  model.edition = Edition::k2024;
  model.bias = true;
  model.d_model = 40;
  model.d_ff = 104;
  model.num_heads = 5;
  model.num_layers = 1;
  for (const Edition edition : {Edition::k2024, Edition::k2025}) {
    model.edition = edition;
    model.bias = edition == Edition::k2024;
    for (const ParameterSpec& parameter : parameter_list(model)) {
      for (const WeightInit init : {WeightInit::kEdition, WeightInit::kStream}) {
        size_t numel = 1;
        for (const int64_t size : parameter.shape) numel *= static_cast<size_t>(size);
        std::vector<float> whole(numel);
        fill_parameter(parameter, init, 11, 0, whole);
        std::vector<float> parts(numel);
        for (size_t begin = 0; begin < numel; begin += 7777) {
          const size_t count = std::min<size_t>(7777, numel - begin);
          fill_parameter(parameter, init, 11, static_cast<int64_t>(begin), std::span(parts).subspan(begin, count));
        }
        EXPECT_EQ(whole, parts) << parameter.name;
      }
    }
  }
}

TEST(Init, FillsParametersFromEachDistribution) {
  const auto filled = [](const ParameterSpec& parameter) {
    std::vector<float> values(4096);
    fill_parameter(parameter, WeightInit::kEdition, 1, 0, values);
    return values;
  };
  EXPECT_EQ(filled({"b", {4096}, {Distribution::kZeros, 0}, {}}), std::vector<float>(4096, 0.0F));
  EXPECT_EQ(filled({"n", {4096}, {Distribution::kOnes, 0}, {}}), std::vector<float>(4096, 1.0F));
  EXPECT_NEAR(moments_of(filled({"w", {4096}, {Distribution::kNormal, 0.02}, {}})).std, 0.02, 0.001);
  EXPECT_NEAR(moments_of(filled({"w", {4096}, {Distribution::kTruncatedNormal, 0.02}, {}})).std, 0.0197, 0.001);
}

}  // namespace
}  // namespace laptime
