// Findings from a handmade trace with known times.
#include "analysis/trace_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <span>

#include "analysis/made_trace.h"
#include "base/json.h"
#include "distribution/median.h"

namespace laptime {
namespace {

const LaunchTest kSoftmaxOnly = [](const TraceLaunch& launch) { return launch.work_class == kSoftmaxClass; };

class TraceFindings : public TraceTest {
 protected:
  std::vector<Finding> findings() const { return trace_findings(record_, trace_); }

  Finding one(std::string_view kind, std::string_view subject = {}) const {
    return laptime::one(findings(), kind, subject);
  }

  // Keeps only the first `launches` launches, as in a shorter pass.
  void cut(size_t launches) {
    for (auto column : {&TraceLaunches::phase, &TraceLaunches::scope, &TraceLaunches::layer, &TraceLaunches::part,
                        &TraceLaunches::range, &TraceLaunches::op, &TraceLaunches::work_class, &TraceLaunches::kernel,
                        &TraceLaunches::signature, &TraceLaunches::bytes, &TraceLaunches::recomputed})
      (trace_.launches.*column).resize(launches);
    trace_.launches.flops.resize(launches);
    for (TracedStep& step : trace_.steps) step.launches.resize(launches);
  }
};

TEST_F(TraceFindings, PassTimeIsTheMeanOfTheTracedSteps) {
  const Finding pass = one("pass_time");
  EXPECT_EQ(pass.subject, "step");
  EXPECT_NEAR(pass.number("total_s"), 1700e-9, 1e-15);
  EXPECT_NEAR(pass.number("residue_s"), 50e-9, 1e-15);
  EXPECT_EQ(pass.integer("launches"), 6);
}

TEST_F(TraceFindings, ClassSharesAddUpToTheLaunches) {
  double total = 0;
  double last = 1;
  for (const Finding& finding : findings()) {
    if (finding.kind != "class_share") continue;
    total += finding.number("total_s");
    EXPECT_LE(finding.number("share"), last) << "largest first";
    last = finding.number("share");
  }
  EXPECT_NEAR(total, 1650e-9, 1e-15);
  const Finding products = one("class_share", "matmul");
  EXPECT_NEAR(products.number("share"), 1500.0 / 1700, 1e-12);
  EXPECT_NEAR(products.number("of_bound"), 800.0 / 1500, 1e-12);  // 32e6 FLOPs at 40 TFLOP/s: 800 ns
  EXPECT_EQ(products.text("bound"), "compute");
}

TEST_F(TraceFindings, BoundsAreUnknownWithoutRates) {
  trace_.peak_flops.reset();
  trace_.bandwidth.reset();
  EXPECT_FALSE(one("class_share", "matmul").has("of_bound"));
  EXPECT_EQ(one("pass_bound").kind, "");
  EXPECT_EQ(one("rates").kind, "");
}

TEST_F(TraceFindings, MarksClassesThatFitInCache) {
  trace_.bandwidth = 8e9;
  EXPECT_TRUE(one("class_share", "softmax").values.json().at("in_cache").get<bool>());
  trace_.cache_bytes = 3000;  // smaller than the traffic of softmax
  EXPECT_FALSE(one("class_share", "softmax").values.json().at("in_cache").get<bool>());
}

TEST_F(TraceFindings, PhaseTimesNameTheLargestClass) {
  const Finding forward = one("phase_time", "forward");
  EXPECT_NEAR(forward.number("total_s"), 950e-9, 1e-15);
  EXPECT_EQ(forward.text("class"), "matmul");
  EXPECT_NEAR(forward.number("class_share"), 900.0 / 950, 1e-12);
}

TEST_F(TraceFindings, SplitsTheMinimumTimeIntoArithmeticAndMemory) {
  const Finding bound = one("pass_bound");
  EXPECT_NEAR(bound.number("arithmetic_s"), 800e-9, 1e-15);
  EXPECT_NEAR(bound.number("memory_s"), 150e-9, 1e-15);
  EXPECT_NEAR(bound.number("of_bound"), 950.0 / 1700, 1e-12);
}

TEST_F(TraceFindings, TracingRatioHasAnIntervalWithEnoughSteps) {
  EXPECT_NEAR(one("tracing").number("ratio"), 1700.0 / 1400, 1e-12);
  EXPECT_FALSE(one("tracing").has("ratio_low"));
  trace_.steps.assign(8, trace_.steps.front());
  trace_.untraced.assign(8, trace_.steps.front().total / 2);
  EXPECT_NEAR(one("tracing").number("ratio_low"), 2, 1e-12);
  EXPECT_NEAR(one("tracing").number("ratio_high"), 2, 1e-12);
  trace_.mark.reset();  // as if the device had recorded the launches
  EXPECT_EQ(one("tracing").kind, "");
  EXPECT_EQ(one("launch_sum").kind, "launch_sum");
}

TEST_F(TraceFindings, ComparesLaunchSumWithTheUntracedStep) {
  const auto& launches = trace_.steps.front().launches;
  const double sum = 1e-9 * static_cast<double>(std::accumulate(launches.begin(), launches.end(), int64_t{0}));
  trace_.steps.assign(8, trace_.steps.front());
  trace_.untraced.assign(8, 2 * sum);
  EXPECT_NEAR(one("launch_sum").number("ratio"), 0.5, 1e-12);
  EXPECT_NEAR(one("launch_sum").number("ratio_high"), 0.5, 1e-12);
}

TEST_F(TraceFindings, LowersTheTrustInDisturbedTraces) {
  trace_.steps.assign(8, trace_.steps.front());
  trace_.untraced.assign(8, trace_.steps.front().total);
  EXPECT_EQ(one("class_share", "matmul").trust, FindingTrust::kMeasured);
  trace_.untraced.assign(8, 0.5 * trace_.steps.front().total);
  EXPECT_TRUE(one("tracing").values.json().at("is_disturbed").get<bool>());
  EXPECT_EQ(one("class_share", "matmul").trust, FindingTrust::kRough);
}

TEST_F(TraceFindings, PredictionReportsTheShareOfLaunchOverhead) {
  record_.verdict.rating = kPredicted;
  EXPECT_EQ(one("launch_starts").kind, "");  // reported only for predictions from a data sheet
  record_.prediction.from = "data sheet";
  EXPECT_EQ(one("tracing").kind, "");
  EXPECT_NEAR(one("launch_starts").number("share"), 1 - 950.0 / 1700, 1e-12);
  EXPECT_EQ(one("pass_time").trust, FindingTrust::kPredicted);
}

TEST_F(TraceFindings, ReportsDeviceIdleShare) {
  EXPECT_EQ(one("device_idle").kind, "");
  trace_.device.missing = "libcupti is not installed";
  trace_.device.recorded = {700e-9, 700e-9};  // an untraced step takes 1400 ns
  EXPECT_NEAR(one("device_idle").number("share"), 0.5, 1e-12);
  EXPECT_TRUE(one("device_idle").values.json().at("is_launch_bound").get<bool>());
  EXPECT_EQ(one("device_idle").integer("kernels"), 6);
  trace_.device.records = "CUPTI";
  trace_.device.kernels = 9;
  trace_.device.busy = {1330e-9, 1330e-9};
  EXPECT_NEAR(one("device_idle").number("share"), 0.05, 1e-12);
  EXPECT_FALSE(one("device_idle").values.json().at("is_launch_bound").get<bool>());
  EXPECT_EQ(one("device_idle").integer("kernels"), 9);
  trace_.device = {.records = "", .missing = "no", .busy = {}, .recorded = {1e-6}, .usually_recorded = 1};
  EXPECT_FALSE(one("device_idle").has("share"));
}

TEST_F(TraceFindings, CommunicationTimesComeFromTheRecord) {
  EXPECT_EQ(one("communication").kind, "");
  record_.communication = {.bytes = 4096, .launches = 2, .seconds = 800e-9, .exposed = 200e-9};
  // This launch only starts communication; computation does not wait for communication during this time.
  add("backward", "lm_head", -1, "lm_head", "", "all_reduce", "communication", 0, 4096, {900, 900});
  for (TracedStep& step : trace_.steps) step.communication = {0, 300, 300, 600};
  const Finding communication = one("communication");
  EXPECT_EQ(communication.number("total_s"), 800e-9);
  EXPECT_EQ(communication.number("exposed_s"), 200e-9);
  EXPECT_NEAR(communication.number("exposed_share"), 0.25, 1e-12);
  EXPECT_EQ(communication.integer("bytes"), 4096);
  EXPECT_EQ(communication.integer("launches"), 2);
}

TEST_F(TraceFindings, DataSheetGivesTheMinimumTime) {
  trace_.datasheet_flops = 40e12;
  trace_.datasheet_bandwidth = 80e9;
  EXPECT_NEAR(one("data_sheet_floor").number("floor_s"), 950e-9, 1e-15);
  EXPECT_NEAR(one("data_sheet_floor").number("share"), 950.0 / 1400, 1e-12);
}

TEST_F(TraceFindings, ComparesMeanTimesOfSoftmaxAndProducts) {
  const Finding both = one("softmax_against_products");
  EXPECT_NEAR(both.number("time_ratio"), 0.1, 1e-12);
  EXPECT_NEAR(both.number("products_flops"), 8e6, 1e-3);
  EXPECT_EQ(both.trust, FindingTrust::kRough) << "two steps are too few";
  trace_.steps.assign(6, trace_.steps.front());
  EXPECT_EQ(one("softmax_against_products").trust, FindingTrust::kMeasured);
}

TEST_F(TraceFindings, ReportsShareAndCallsOfTheTopKernel) {
  const Finding top = top_kernel("step", trace_).value();
  EXPECT_EQ(top.text("kernel"), "matmul:k");
  EXPECT_NEAR(top.number("share"), 1500.0 / 1700, 1e-12);
  EXPECT_EQ(top.integer("calls"), 4);
  EXPECT_EQ(top.integer("products_calls"), 4);
}

TEST_F(TraceFindings, ComparedPartsHaveNoResidueRowForRoundingErrors) {
  for (TracedStep& step : trace_.steps) {
    const auto sum = std::accumulate(step.launches.begin(), step.launches.end(), 0.0);
    step.total = 1e-9 * sum * (1 - 1e-12);
  }
  const std::vector<ComparedPart> parts = compared_parts(trace_, trace_, class_key);
  EXPECT_NE(parts[parts.size() - 2].part, "residue");
  EXPECT_EQ(parts.back().part, "step");
}

TEST_F(TraceFindings, ComparedPartsAreSortedByTimeSaved) {
  const StepTrace faster = this->faster();
  const std::vector<ComparedPart> parts = compared_parts(trace_, faster, class_key);
  EXPECT_EQ(parts.front().part, "forward matmul");
  EXPECT_NEAR(parts.front().saved(), 200e-9, 1e-15);
  EXPECT_NEAR(parts.front().ratio.value(), 900.0 / 700, 1e-12);
  EXPECT_EQ(parts[parts.size() - 2].part, "residue");
  EXPECT_EQ(parts.back().part, "step");
  EXPECT_NEAR(parts.back().saved(), 200e-9, 1e-15);
  EXPECT_EQ(compared_parts(trace_, faster, class_key, kSoftmaxOnly).size(), 2U) << "softmax, step";
}

TEST_F(TraceFindings, ComparedPartsAddUpToTheMeanStep) {
  const StepTrace steady = trace_;
  trace_.steps.push_back(trace_.steps.front());
  trace_.steps.back().launches[4] += 4500;  // a pause of the machine
  trace_.steps.back().total += 4500e-9;
  const std::vector<ComparedPart> parts = compared_parts(trace_, steady, class_key);
  double a = 0;
  double b = 0;
  double saved = 0;
  for (const ComparedPart& part : std::span(parts).first(parts.size() - 1)) {
    a += part.a.value();
    b += part.b.value();
    saved += part.saved();
  }
  const ComparedPart& step = parts.back();
  EXPECT_NEAR(step.a.value(), totals_of(trace_).step, 1e-15);
  EXPECT_NEAR(a, step.a.value(), 1e-15);
  EXPECT_NEAR(b, step.b.value(), 1e-15);
  EXPECT_NEAR(saved, step.saved(), 1e-15);
  EXPECT_NEAR(step.ratio.value(), step.a.value() / step.b.value(), 1e-12);
}

TEST_F(TraceFindings, ComparedPartsMayExistOnOneSideOnly) {
  const StepTrace whole = trace_;
  cut(5);
  const std::vector<ComparedPart> parts = compared_parts(whole, trace_, kernel_of);
  const auto mul = std::find_if(parts.begin(), parts.end(), [](const auto& one) { return one.part == "mul:k"; });
  ASSERT_NE(mul, parts.end());
  EXPECT_FALSE(mul->b.has_value());
  EXPECT_FALSE(mul->ratio.has_value());
  EXPECT_NEAR(mul->saved(), 100e-9, 1e-15);
}

TEST_F(TraceFindings, CastCostDescribesTheProfileThatCastsMore) {
  const StepTrace plain = trace_;
  add("forward", "lm_head", -1, "lm_head", "", "to", "cast", 0, 1000, {100, 100});
  const Finding cost = cast_cost({"bfloat16", &trace_, "b"}, {"float32", &plain, "a"});
  EXPECT_EQ(cost.subject, "b");
  EXPECT_EQ(cost.text("from"), "float32");
  EXPECT_NEAR(cost.number("casts_s"), 100e-9, 1e-15);
  EXPECT_NEAR(cost.number("cast_share"), 100.0 / 1700, 1e-12);
}

TEST_F(TraceFindings, JsonContainsTheTrustLevel) {
  const Json json = to_json(one("phase_time", "backward"));
  EXPECT_EQ(json.at("kind"), "phase_time");
  EXPECT_EQ(json.at("subject"), "backward");
  EXPECT_EQ(json.at("trust"), "rough");
  EXPECT_NEAR(json.at("total_s").get<double>(), 600e-9, 1e-15);
}

}  // namespace
}  // namespace laptime
