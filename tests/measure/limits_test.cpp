// Limits: known limits are reused, unknown limits are measured, and limits that a run exceeds are measured again.
#include "measure/limits.h"

#include <gtest/gtest.h>

#include <vector>

#include "backend/roofline/roofline_backend.h"
#include "ops/registry.h"

namespace laptime {
namespace {

// A device with one limit, whose measurements return the given values in turn.
class ScriptedBackend : public roofline::RooflineBackend {
 public:
  explicit ScriptedBackend(std::vector<double> values, DeviceLimit::Kind kind = DeviceLimit::Kind::kProductFlops)
      : RooflineBackend(find_machine("h100"), all_ops(), 1), values_(std::move(values)), kind_(kind) {}
  std::vector<DeviceLimit> limits(DType) override {
    return {{kind_, "peak", "FLOP/s", [this] { return LimitReading(values_.at(measured_++), estimates); }}};
  }
  bool estimates = false;  // if true, a measurement gives only an estimate of the peak
  size_t measured() const { return measured_; }

 private:
  std::vector<double> values_;
  DeviceLimit::Kind kind_;
  size_t measured_ = 0;
};

const std::vector<MeasuredPeak> kKnown{{"device", "peak", 100, "FLOP/s", "2026-01-01T00:00:00Z"}};

TEST(Limits, AreMeasuredOncePerMachine) {
  ScriptedBackend backend({100});
  std::vector<MeasuredPeak> learned;
  const MeasuredLimits fresh = measure_limits(backend, DType::kFloat32, {.reached = 50}, {}, learned);
  EXPECT_EQ(fresh.product_flops, 100);
  EXPECT_EQ(fresh.product_flops_at, "");
  ASSERT_EQ(learned.size(), 1U);
  EXPECT_EQ(learned[0].value, 100);
  learned.clear();
  const MeasuredLimits kept = measure_limits(backend, DType::kFloat32, {.reached = 50}, kKnown, learned);
  EXPECT_EQ(kept.product_flops, 100);
  EXPECT_EQ(kept.product_flops_at, kKnown[0].created);
  EXPECT_TRUE(learned.empty());
  EXPECT_EQ(backend.measured(), 1U);
}

TEST(Limits, AreMeasuredAgainWhenExceeded) {
  ScriptedBackend backend({130});
  std::vector<MeasuredPeak> learned;
  EXPECT_EQ(measure_limits(backend, DType::kFloat32, {.reached = 120}, kKnown, learned).product_flops, 130);
  ASSERT_EQ(learned.size(), 1U);
  EXPECT_EQ(learned[0].value, 130);
}

const std::vector<MeasuredPeak> kProvisionalPeak{{"device", "peak/provisional", 100, "FLOP/s", "2026-01-01T00:00:00Z"}};

TEST(Limits, AreMeasuredAgainAfterAnEstimate) {
  ScriptedBackend backend({100, 95, 90});
  backend.estimates = true;
  std::vector<MeasuredPeak> learned;
  const MeasuredLimits first = measure_limits(backend, DType::kFloat32, {.reached = 50}, {}, learned);
  EXPECT_EQ(first.product_flops, 100);
  EXPECT_TRUE(first.product_flops_estimated);
  ASSERT_EQ(learned.size(), 1U);
  EXPECT_EQ(learned[0].name, "peak/provisional");
  learned.clear();
  const MeasuredLimits second = measure_limits(backend, DType::kFloat32, {.reached = 50}, kProvisionalPeak, learned);
  EXPECT_EQ(second.product_flops, 100);  // the highest estimate so far
  EXPECT_EQ(second.product_flops_at, kProvisionalPeak[0].created);
  EXPECT_TRUE(second.product_flops_estimated);
  backend.estimates = false;
  learned.clear();
  const MeasuredLimits third = measure_limits(backend, DType::kFloat32, {.reached = 50}, kProvisionalPeak, learned);
  EXPECT_EQ(third.product_flops, 90);  // a measured rate replaces estimates
  EXPECT_FALSE(third.product_flops_estimated);
  ASSERT_EQ(learned.size(), 1U);
  EXPECT_EQ(learned[0].name, "peak");
}

TEST(Limits, EstimateNeverReplacesAMeasuredPeak) {
  ScriptedBackend backend({150, 150, 150, 150});
  backend.estimates = true;
  std::vector<MeasuredPeak> learned;
  EXPECT_EQ(measure_limits(backend, DType::kFloat32, {.reached = 120}, kKnown, learned).product_flops, 100);
}

TEST(Limits, BandwidthIsMeasuredAgainAfterADisturbedRun) {
  ScriptedBackend backend({70, 90, 80}, DeviceLimit::Kind::kBandwidth);
  LimitsRequest request{.bandwidth = true, .disturbed = true};
  std::vector<MeasuredPeak> learned;
  measure_limits(backend, DType::kFloat32, request, {}, learned);
  ASSERT_EQ(learned.size(), 1U);
  EXPECT_EQ(learned[0].name, "peak/provisional");
  request.disturbed = false;
  learned.clear();
  EXPECT_EQ(measure_limits(backend, DType::kFloat32, request, kProvisionalPeak, learned).bandwidth, 100);
  ASSERT_EQ(learned.size(), 1U);
  EXPECT_EQ(learned[0].name, "peak");
  EXPECT_EQ(learned[0].value, 100);  // the highest value so far
}

// A trace with a single launch that takes one microsecond.
StepTrace trace_of_launch(int64_t bytes, std::optional<int64_t> cache_bytes) {
  StepTrace trace;
  trace.texts = {""};
  TraceLaunches& launches = trace.launches;
  for (std::vector<int64_t>* const column :
       {&launches.phase, &launches.scope, &launches.layer, &launches.part, &launches.range, &launches.op,
        &launches.work_class, &launches.kernel, &launches.signature, &launches.recomputed}) {
    column->push_back(0);
  }
  launches.flops.push_back(0);
  launches.bytes.push_back(bytes);
  trace.steps.push_back({.total = 1e-6, .launches = {1000}});
  trace.cache_bytes = cache_bytes;
  return trace;
}

TEST(Limits, BandwidthIsAtLeastTheReachedRate) {
  ScriptedBackend backend({70, 60, 65, 70}, DeviceLimit::Kind::kBandwidth);
  std::vector<MeasuredPeak> learned;
  const LimitsRequest request{.bandwidth = true, .reached_bandwidth = 120};
  EXPECT_EQ(measure_limits(backend, DType::kFloat32, request, kKnown, learned).bandwidth, 120);
  ASSERT_EQ(learned.size(), 1U);
  EXPECT_EQ(learned[0].value, 120);
}

TEST(Limits, IgnoreCacheSizedTransfers) {
  EXPECT_DOUBLE_EQ(memory_bandwidth_reached(trace_of_launch(4000, 1000)), 4e9);
  EXPECT_EQ(memory_bandwidth_reached(trace_of_launch(3999, 1000)), 0);
  EXPECT_EQ(memory_bandwidth_reached(trace_of_launch(4000, std::nullopt)), 0);
}

TEST(Limits, KeepTheLargestMeasurement) {
  ScriptedBackend backend({90, 105, 80, 95});
  std::vector<MeasuredPeak> learned;
  EXPECT_EQ(measure_limits(backend, DType::kFloat32, {.reached = 120}, kKnown, learned).product_flops, 105);
  EXPECT_EQ(learned.size(), 1U);
  EXPECT_EQ(backend.measured(), 4U);
}

TEST(Limits, AreMeasuredAgainUntilTheyExceedTheReachedRate) {
  ScriptedBackend backend({60, 60, 125});
  std::vector<MeasuredPeak> learned;
  EXPECT_EQ(measure_limits(backend, DType::kFloat32, {.reached = 120}, {}, learned).product_flops, 125);
  EXPECT_EQ(backend.measured(), 3U);
}

}  // namespace
}  // namespace laptime
