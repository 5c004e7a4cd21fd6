// Trace event JSON: its shape, and what a long trace leaves out to stay small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "export/writers.h"
#include "small_trace.h"

namespace laptime {
namespace {

using testing::HasSubstr;

// Slices of one row must nest or be disjoint. They are written outer before inner, in the order of time.
void expect_nested(const Json& json) {
  std::vector<double> ends;
  double begin = 0;
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const double end = std::round((event["ts"].get<double>() + event["dur"].get<double>()) * 1000);
    ASSERT_GE(event["ts"].get<double>(), begin);
    begin = event["ts"].get<double>();
    while (!ends.empty() && ends.back() <= std::round(begin * 1000)) ends.pop_back();
    const double outer = ends.empty() ? end : ends.back();
    ASSERT_LE(end, outer);
    ends.push_back(end);
  }
}

int64_t launches_in(const Json& json) {
  int64_t nanoseconds = 0;
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] == "X" && event["cat"] == "kernel") nanoseconds += std::llround(event["dur"].get<double>() * 1000);
  }
  return nanoseconds;
}

TEST(ChromeTrace, HasWhatTheReadersAskFor) {
  const TracedRecord traced = test::small_trace();
  const std::string text = chrome_trace({&traced, 1}, {});
  EXPECT_THAT(text, HasSubstr("\"rank\": 0"));  // HTA needs the space
  EXPECT_THAT(
      text,
      HasSubstr(R"({"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":7,"ts":50.000,"dur":10.000})"));
  EXPECT_THAT(text, HasSubstr(R"x("name":"softmax","pid":0,"tid":7,"ts":52.500,"dur":1.500,"args":{"stream":7,)x"
                              R"x("kernel":"rows_avx2","launch":1,"class":"matmul",)x"
                              R"x("signature":"softmax(float32 [4, 8])","FLOP":64.0,"bytes":128}})x"));
  EXPECT_THAT(text, HasSubstr(R"("ts":51.000,"args":{"parameter":256,"activation":64,"gradient":0}})"));
  const Json json = Json::parse(text);
  expect_nested(json);
  EXPECT_EQ(json["laptime"]["left_out"].size(), 1U);  // the other steps
  EXPECT_EQ(Json::parse(chrome_trace({&traced, 1}, {.steps = ExportedSteps::kAll}))["laptime"]["left_out"].size(), 0U);
}

TEST(ChromeTrace, LeavesOutOneThingAfterTheOtherToStaySmall) {
  const TracedRecord traced = test::long_trace(50);
  int64_t expected = 0;
  for (const int64_t launch : traced.trace->steps[0].launches) expected += launch;
  size_t left_out = 0;
  for (const size_t limit : {800'000, 500'000, 300'000, 150'000, 80'000, 30'000, 10'000}) {
    const std::string text = chrome_trace(traced, ExportedSteps::kOne, limit);
    EXPECT_LE(text.size(), limit);
    const Json json = Json::parse(text);
    expect_nested(json);
    EXPECT_EQ(launches_in(json), expected);
    EXPECT_GE(json["laptime"]["left_out"].size(), left_out);
    left_out = json["laptime"]["left_out"].size();
  }
  EXPECT_EQ(left_out, 4U);
}

TEST(ChromeTrace, SlowOfTheLongestStepIsBelowFiveMegabytes) {
  const TracedRecord traced = test::long_trace(600);  // 12,000 launches, 9 MB with everything in it
  EXPECT_LE(chrome_trace({&traced, 1}, {}).size(), kMaxTraceBytes);
}

}  // namespace
}  // namespace laptime
