// The record of a run that does not reproduce the losses of an earlier run has no timing.
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
  return record;
}

TEST(SameLoss, EqualLossesKeepTheTiming) {
  Record record = measured({4.5, 4.25});
  require_same_loss(measured({4.5, 4.25, 4.0}), record);
  EXPECT_EQ(record.status, Status::kOk);
  EXPECT_TRUE(record.time.contains("step"));
}

TEST(SameLoss, DifferentLossRemovesTheTiming) {
  Record record = measured({4.5, 4.25});
  require_same_loss(measured({4.5, 4.250000001}), record);
  EXPECT_EQ(record.status, Status::kFailed);
  EXPECT_NE(record.reason.find("step 2"), std::string::npos) << record.reason;
  EXPECT_TRUE(record.time.empty());
  EXPECT_FALSE(record.tokens_per_second || record.flops.model_flops_per_second || record.flops.mfu_measured ||
               record.transient.excess);
  EXPECT_TRUE(record.flops.forward) << "work does not depend on time";
}

TEST(SameLoss, DoesNotCompareRunsWithDifferentKernels) {
  Record record = measured({4.5});
  record.kernels[0].kernel = "onednn";
  require_same_loss(measured({4.75}), record);
  EXPECT_EQ(record.status, Status::kOk);
}

TEST(SameLoss, DoesNotCompareRunsWithDifferentArithmetic) {
  Record record = measured({4.5});
  record.math_mode = "float32, products of three bfloat16 terms";
  require_same_loss(measured({4.75}), record);
  EXPECT_EQ(record.status, Status::kOk);
}

TEST(SameLoss, DoesNotCompareRunsOfDifferentConfigurations) {
  Record record = measured({4.5});
  record.config_hash = "fedcba9876543210";
  require_same_loss(measured({4.75}), record);
  EXPECT_EQ(record.status, Status::kOk);
}

}  // namespace
}  // namespace laptime
