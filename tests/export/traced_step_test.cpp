// Slices of traced steps: their names and times, and how they nest.
#include "export/traced_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_trace.h"

namespace laptime {
namespace {

using testing::ElementsAre;

std::vector<std::string> texts_of(const std::vector<Slice>& slices) {
  std::vector<std::string> texts;
  for (const Slice& slice : slices) texts.push_back(fmt::format("{} {}-{}", slice.name, slice.begin, slice.end));
  return texts;
}

TEST(StepSlices, NestModulesAndOpsInTheirPhases) {
  const TracedRecord traced = test::small_trace();
  const StepSlices timeline = slices_of(traced, ExportedSteps::kOne);
  EXPECT_THAT(texts_of(timeline.slices),
              ElementsAre("warmup 0-30000", "warmup 30000-50000", "step 50000-60000", "forward 51000-57000",
                          "layers.0 51000-55000", "attn 51000-54000", "scaled dot product attention 51000-54000",
                          "computing attention scores 51000-52500", "matmul 51000-52500",
                          "computing softmax 52500-54000", "softmax 52500-54000", "ffn 54000-55000", "w1 54000-55000",
                          "matmul 54000-55000", "layers.1 55000-57000", "ffn 55000-57000", "w1 55000-57000",
                          "matmul 55000-57000", "backward 57000-59000", "layers.1 57000-59000", "ffn 57000-59000",
                          "w1 57000-59000", "matmul 57000-59000", "optimizer 59000-59500", "adamw 59000-59500"));
  ASSERT_EQ(timeline.steps.size(), 1U);
  EXPECT_EQ(timeline.steps[0].step, &traced.trace->steps[2]);  // the median step
  EXPECT_EQ(timeline.steps[0].first_launch, 51000);
}

TEST(StepSlices, AllStepsAreInOrder) {
  const TracedRecord traced = test::small_trace();
  const StepSlices timeline = slices_of(traced, ExportedSteps::kAll);
  ASSERT_EQ(timeline.steps.size(), 3U);
  EXPECT_EQ(timeline.steps[0].begin, 50000);
  EXPECT_EQ(timeline.steps[1].begin, 70000);
  EXPECT_EQ(timeline.steps[2].end, 89000);
}

TEST(StepSlices, InvalidWarmupTimesCountAsZero) {
  TracedRecord traced = test::small_trace();
  traced.record.transient.warmup = {std::numeric_limits<double>::quiet_NaN(), -1, 1e300};
  EXPECT_EQ(slices_of(traced, ExportedSteps::kOne).steps[0].begin, 0);
}

}  // namespace
}  // namespace laptime
