// A run that does not reproduce the losses of an earlier run keeps no timing.
#include "sweep/run_sweep.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace laptime {
namespace {

Record measured(std::vector<double> losses) {
  Record record;
  record.name = "step/model:small";
  record.config = Json{{"data", ""}, {"weights", ""}};
  record.config_hash = "0123456789abcdef";
  record.created = "2026-01-01T00:00:00Z";
  record.loss.values = std::move(losses);
  record.kernels = {{"matmul", "matmul(...)", "tiles"}};
  record.time["step"].median = 1;
  record.tokens_per_second = 100;
  record.flops.model_flops_per_second = 1e9;
  record.flops.mfu_measured = 0.5;
  record.flops.forward = 1e9;
  record.transient.excess = 0.1;
  record.verdict.rating = "stable";
  record.stopping.rule = "interval";
  record.machine = Json{{"cores_allowed", 2},
                        {"during", {{"user_seconds", 1.0}}},
                        {"sensors", {{"joules_per_step", 2.0}, {"uncorrected_errors", 1}}}};
  return record;
}

PointResult run_with(std::vector<double> losses) {
  PointResult result{measured(std::move(losses)), {}, StepTrace()};
  result.learned.peaks = {{"machine", "peak", 1e9, "FLOP/s", "2026-01-01T00:00:00Z"}};
  return result;
}

TEST(SameLoss, EqualLossesKeepTheTiming) {
  PointResult result = run_with({4.5, 4.25});
  require_same_loss(measured({4.5, 4.25, 4.0}), result);
  EXPECT_EQ(result.record.status, Status::kOk);
  EXPECT_TRUE(result.record.time.contains("step"));
  EXPECT_TRUE(result.trace && !result.learned.peaks.empty());
}

TEST(SameLoss, DifferentLossRemovesTheTiming) {
  PointResult result = run_with({4.5, 4.25});
  require_same_loss(measured({4.5, 4.250000001}), result);
  EXPECT_EQ(result.record.status, Status::kFailed);
  EXPECT_NE(result.record.reason.find("step 2"), std::string::npos) << result.record.reason;
  EXPECT_TRUE(result.record.time.empty());
  EXPECT_FALSE(result.record.tokens_per_second || result.record.flops.model_flops_per_second ||
               result.record.flops.mfu_measured || result.record.transient.excess);
  EXPECT_EQ(result.record.verdict, Verdict());
  EXPECT_EQ(result.record.stopping, Stopping());
  EXPECT_EQ(result.record.machine.json(), (Json{{"cores_allowed", 2}, {"sensors", {{"uncorrected_errors", 1}}}}));
  EXPECT_TRUE(result.record.flops.forward) << "work does not depend on time";
  EXPECT_FALSE(result.trace) << "times of launches cannot be trusted either";
  EXPECT_TRUE(result.learned.peaks.empty());
}

TEST(SameLoss, DoesNotCompareRunsWithDifferentKernels) {
  PointResult result = run_with({4.5});
  result.record.kernels[0].kernel = "onednn";
  require_same_loss(measured({4.75}), result);
  EXPECT_EQ(result.record.status, Status::kOk);
}

TEST(SameLoss, DoesNotCompareRunsWithDifferentArithmetic) {
  PointResult result = run_with({4.5});
  result.record.math_mode = "float32, products of three bfloat16 terms";
  require_same_loss(measured({4.75}), result);
  EXPECT_EQ(result.record.status, Status::kOk);
}

TEST(SameLoss, DoesNotCompareRunsOfDifferentConfigurations) {
  PointResult result = run_with({4.5});
  result.record.config_hash = "fedcba9876543210";
  require_same_loss(measured({4.75}), result);
  EXPECT_EQ(result.record.status, Status::kOk);
}

}  // namespace
}  // namespace laptime
