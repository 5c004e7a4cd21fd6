// Lines that describe steps: accepted fields, and the errors for invalid lines.
#include "measure/step_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "support/error_of.h"

namespace laptime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string refusal_of_line(const std::string& text) {
  return test::error_of([&] { parse_step_line(text); });
}

TEST(StepLine, HasTimesInNanoseconds) {
  const StepLine line = parse_step_line(
      R"({"step": 12000000, "optimizer": 1000000, "forward": 4000000.5, "begin": 9007199254740993, "loss": 9.25,)"
      R"( "peak_bytes": 7, "peak_rss_bytes": 8})");
  EXPECT_DOUBLE_EQ(line.step.count(), 0.012);
  EXPECT_THAT(line.phases, ElementsAre(Pair(Phase::kForward, Seconds{4000000.5 * 1e-9}),
                                       Pair(Phase::kOptimizer, Seconds{1000000 * 1e-9})));
  EXPECT_EQ(line.begin, 9007199254740993);  // exact, although a double cannot represent it
  EXPECT_EQ(line.loss, 9.25);
  EXPECT_EQ(line.peak_bytes, 7);
  EXPECT_EQ(line.peak_rss_bytes, 8);
  EXPECT_EQ(line.keys.size(), 7U);
}

TEST(StepLine, KeepsAdditionalPhases) {
  const StepLine line = parse_step_line(R"({"step": 90, "phases": {"data": 30, "forward": 20, "all_reduce": 10}})");
  EXPECT_THAT(line.phases, ElementsAre(Pair(Phase::kForward, Seconds{20 * 1e-9})));
  EXPECT_THAT(line.own_phases, ElementsAre(Pair("data", Seconds{30 * 1e-9}), Pair("all_reduce", Seconds{10 * 1e-9})));
  EXPECT_THAT(line.keys, testing::Contains("phases.data"));
  EXPECT_TRUE(parse_step_line(R"({"step": 1, "phases": null})").own_phases.empty());
}

TEST(StepLine, AcceptsPhasesThatFillTheStep) {
  EXPECT_EQ(parse_step_line(R"({"step": 3, "forward": 1, "backward": 2})").phases.size(), 2U);
  // The sum of these two is the next double after 0.3.
  EXPECT_EQ(parse_step_line(R"({"step": 0.3, "forward": 0.1, "backward": 0.2})").phases.size(), 2U);
  EXPECT_THAT(refusal_of_line(R"({"step": 0.3, "forward": 0.1, "backward": 0.21})"), HasSubstr("longer than the step"));
}

TEST(StepLine, RejectsBadPhases) {
  EXPECT_THAT(refusal_of_line(R"({"step": 9, "phases": 3})"), HasSubstr("'phases' must be an object"));
  EXPECT_THAT(refusal_of_line(R"({"step": 9, "phases": {"data": "x"}})"), HasSubstr("'data' must be a number"));
  EXPECT_THAT(refusal_of_line(R"({"step": 9, "phases": {"Data!": 1}})"),
              HasSubstr("'Data!' is not a valid phase name"));
  EXPECT_THAT(refusal_of_line(R"({"step": 9, "phases": {"foward": 1}})"), HasSubstr("did you mean 'forward'"));
  EXPECT_THAT(refusal_of_line(R"({"step": 9, "phases": {"step": 1}})"), HasSubstr("'step' is not a valid phase name"));
  EXPECT_THAT(refusal_of_line(R"({"step": 9, "forward": 1, "phases": {"forward": 1}})"),
              HasSubstr("the phase 'forward' twice"));
  EXPECT_THAT(refusal_of_line(R"({"step": 9, "phases": {"data": 1, "data": 2}})"), HasSubstr("'data' twice"));
  EXPECT_THAT(refusal_of_line(R"({"step": 9, "forward": 5, "phases": {"data": 5}})"),
              HasSubstr("longer than the step"));
  EXPECT_THAT(refusal_of_line(R"({"step": 9, "phases": {"data": [[1]]}})"), HasSubstr("lists or objects"));
}

TEST(StepLine, AcceptsMinimalLine) {
  const StepLine line = parse_step_line(R"({"step": 1})");
  EXPECT_TRUE(line.phases.empty());
  EXPECT_FALSE(line.begin || line.loss || line.peak_bytes || line.peak_rss_bytes);
}

TEST(StepLine, NullAndNanMeanAbsent) {
  for (const char* const text : {R"({"step": 1, "loss": null, "forward": null, "begin": null, "peak_bytes": null})",
                                 R"({"step": 1, "loss": NaN, "forward": NaN, "begin": NaN, "peak_bytes": NaN})"}) {
    const StepLine line = parse_step_line(text);
    EXPECT_FALSE(line.loss || line.begin || line.peak_bytes) << text;
    EXPECT_TRUE(line.phases.empty());
    EXPECT_EQ(line.keys.size(), 5U);
  }
  EXPECT_TRUE(std::isinf(parse_step_line(R"({"step": 1, "loss": Infinity})").loss.value()));
  EXPECT_TRUE(std::isinf(parse_step_line(R"({"step": 1, "loss": -Infinity})").loss.value()));
  EXPECT_THAT(refusal_of_line(R"({"step": NaN})"), HasSubstr("'step' must be a number"));
  EXPECT_THAT(refusal_of_line(R"({"step": 1, "peak_bytes": Infinity})"),
              HasSubstr("'peak_bytes' must be a whole number"));
  EXPECT_THAT(refusal_of_line(R"({"step": 1, "NaN": 1})"), HasSubstr("unknown key 'NaN'"));
  EXPECT_THAT(refusal_of_line(R"({"step": 1, "ends in \\": 1, "loss": NaN})"), HasSubstr("unknown key"));
}

TEST(StepLine, RejectsRepeatedKey) {
  EXPECT_THAT(refusal_of_line(R"({"step": 1, "step": 2})"), HasSubstr("has the key 'step' twice"));
}

TEST(StepLine, ErrorNamesBadField) {
  EXPECT_THAT(refusal_of_line(""), HasSubstr("is not a JSON object"));
  EXPECT_THAT(refusal_of_line("12"), HasSubstr(R"(write {"step": NANOSECONDS})"));
  EXPECT_THAT(refusal_of_line(R"({"step": 12)"), HasSubstr("is not a JSON object"));
  EXPECT_THAT(refusal_of_line("{}"), HasSubstr("'step' is missing"));
  EXPECT_THAT(refusal_of_line(R"({"step": "1"})"), HasSubstr("'step' must be a number of nanoseconds"));
  EXPECT_THAT(refusal_of_line(R"({"step": -1})"), HasSubstr("found '-1'"));
  EXPECT_THAT(refusal_of_line(R"({"step": 0})"), HasSubstr("'step' must be more than 0"));
  EXPECT_THAT(refusal_of_line(R"({"step": 1e19})"), HasSubstr("at most 1e18"));
  EXPECT_THAT(refusal_of_line(R"({"step": 1, "backwards": 1})"), HasSubstr("did you mean 'backward'?"));
  EXPECT_THAT(refusal_of_line(R"({"step": 1, "begin": 0.5})"), HasSubstr("'begin' must be a whole number"));
  EXPECT_THAT(refusal_of_line(R"({"step": 1, "peak_bytes": -1})"), HasSubstr("'peak_bytes' must be a whole number"));
  EXPECT_THAT(refusal_of_line(R"({"step": 1, "loss": "low"})"), HasSubstr("'loss' must be a number"));
  EXPECT_THAT(refusal_of_line(R"({"step": 3, "forward": 2, "backward": 2})"), HasSubstr("longer than the step"));
  EXPECT_THAT(refusal_of_line(R"({"step": [[1]]})"), HasSubstr("may not contain"));
  EXPECT_THAT(refusal_of_line(std::string(kMaxStepLineBytes + 1, ' ')), HasSubstr("exceed the limit"));
}

}  // namespace
}  // namespace laptime
