// The progress lines of points and of planning: their text, and when they are written.
#include "cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/points.h"

namespace laptime {
namespace {

using testing::HasSubstr;

TEST(SpokenPoints, OmitSettingsSharedByAllPoints) {
  const SweepPoint small = test::point_of({{"model", "small"}, {"context", "16"}, {"threads", "1"}});
  const SweepPoint medium = test::point_of({{"model", "medium"}, {"context", "16"}, {"threads", "1"}});
  EXPECT_THAT(spoken_points({small, medium}), testing::ElementsAre("small", "medium"));
  EXPECT_THAT(spoken_points({small}), testing::ElementsAre("step small ctx 16 float32 eager 1 thread"));
}

TEST(ProgressText, NamesPointStageStepAndTimeLeft) {
  EXPECT_EQ(progress_text(2, 20, "small ctx 16", {.stage = "weights"}, std::nullopt), "[3/20] small ctx 16: weights");
  EXPECT_EQ(progress_text(0, 1, "a", {"steps", 4, 15, 0.5}, Seconds(90)),
            "[1/1] a: steps, step 4 of 15, 500.0 ms each, about 90 s left");
  EXPECT_EQ(progress_text(0, 1, "a", {"steps", 4, 0, 0.5}, std::nullopt), "[1/1] a: steps, step 4, 500.0 ms each");
}

TEST(PlanEach, FailedPlanFailsTheCommand) {
  const std::vector<ResolvedPoint> points(2, test::point_of({{"model", "small"}, {"context", "16"}}));
  const auto planned = [&](Status first) {
    return plan_each(
        points,
        [&](const ResolvedPoint& point, const ShowStage&) {
          PointResult result;
          result.record.status = &point == points.data() ? first : Status::kOk;
          return result;
        },
        [](const PointResult&) {});
  };
  EXPECT_EQ(planned(Status::kOk).points, 2U);
  EXPECT_EQ(planning_exit(planned(Status::kOk), points), ExitCode::kOk);
  EXPECT_EQ(planning_exit(planned(Status::kOutOfMemory), points), ExitCode::kOk);
  EXPECT_EQ(planning_exit(planned(Status::kFailed), points), ExitCode::kFailed);
}

TEST(ProgressText, RoundsTimes) {
  EXPECT_EQ(rough_time(Seconds(0.2)), "1 s");
  EXPECT_EQ(rough_time(Seconds(600)), "10 min");
  EXPECT_EQ(rough_time(Seconds(3 * 3600 + 1800)), "3.5 h");
}

// Captures standard output and returns it as the stream of a progress line. written() returns the captured text.
OutputStream captured(bool is_terminal, size_t width) {
  testing::internal::CaptureStdout();
  return {STDOUT_FILENO, is_terminal, true, width};
}
std::string written() { return testing::internal::GetCapturedStdout(); }

TEST(ProgressLine, ShortensTheNameOnANarrowTerminal) {
  ProgressLine line(captured(true, 60));
  line.show(0, "[1/2] step/model:small/ctx:256/dtype:float32/mode:eager: steps, step 4 of 15, 500.0 ms each",
            Seconds(0));
  EXPECT_THAT(written(), HasSubstr("[1/2] step/model:sma...: steps, step 4 of 15, 500.0 ms each"));
}

TEST(ProgressLine, LimitsLinesPerPointWithoutATerminal) {
  ProgressLine line(captured(false, 0));
  line.show(0, "first", Seconds(0));
  line.show(0, "too soon", Seconds(5));
  line.show(0, "later", Seconds(11));
  line.show(1, "second", Seconds(12));
  line.clear();
  EXPECT_EQ(written(), "first\nlater\nsecond\n");
}

TEST(ProgressLine, OverwritesAndTruncatesItselfOnATerminal) {
  ProgressLine line(captured(true, 10));
  line.clear();
  line.show(0, "0123456789abcdef", Seconds(0));
  line.show(0, "next", Seconds(0));
  line.clear();
  line.clear();
  EXPECT_EQ(written(), "\r\x1b[K012345678\r\x1b[Knext\r\x1b[K");
}

TEST(PlanningLine, AppearsAfterASecondOfPlanning) {
  PlanningLine line(captured(false, 0), {"a", "b"});
  line.show(0, "plan", Seconds(0));
  line.show(0, "largest batch", Seconds(0.9));
  line.show(1, "plan", Seconds(1.2));
  line.show(1, "largest batch", Seconds(2));
  EXPECT_EQ(written(), "[2/2] b: plan\n");
}

TEST(ProgressLine, EscapesControlBytesOfNames) {
  ProgressLine line(captured(true, 0));
  line.show(0, "a\x1b[2Jb\n", Seconds(0));
  EXPECT_THAT(written(), HasSubstr("a\\x1b[2Jb\\n"));
}

}  // namespace
}  // namespace laptime
