// Exports of steps that have been run.
#include <gtest/gtest.h>

#include "expect_totals.h"
#include "measured_trace.h"

namespace laptime {
namespace {

TEST(Measured, SlowSlicesNest) {
  for (const char* const mode : {"eager", "compile"}) {
    const TracedRecord traced = test::measured_trace(mode);
    ASSERT_TRUE(traced.trace.has_value()) << traced.record.reason;
    const StepSlices timeline = slices_of(traced, ExportedSteps::kAll);
    ASSERT_EQ(timeline.steps.size(), 2U);
    for (size_t i = 0; i < timeline.slices.size(); ++i) {
      const Slice& outer = timeline.slices[i];
      for (size_t k = i + 1; k <= i + outer.inside; ++k) {
        ASSERT_LE(outer.begin, timeline.slices[k].begin);
        ASSERT_GE(outer.end, timeline.slices[k].end);
      }
    }
  }
}

TEST(Measured, SlowTimesMatchInEveryFormat) {
  for (const char* const mode : {"eager", "compile"}) {
    const TracedRecord traced = test::measured_trace(mode);
    ASSERT_TRUE(traced.trace.has_value()) << traced.record.reason;
    test::expect_equal_totals(traced, ExportedSteps::kOne);
    test::expect_equal_totals(traced, ExportedSteps::kAll);
  }
}

TEST(Measured, SlowPeakBytesMatch) {
  for (const char* const mode : {"eager", "compile"}) test::expect_the_peak(test::measured_trace(mode));
}

}  // namespace
}  // namespace laptime
