// Trace event JSON: its structure, and the details that long traces omit to stay small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/json.h"
#include "export/formats.h"
#include "small_trace.h"

namespace laptime {
namespace {

using testing::HasSubstr;

// Slices in one row must nest or be disjoint. They are written in order of start time, outer slices first.
void expect_nested(const Json& json) {
  std::vector<int64_t> ends;
  int64_t begin = 0;
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] != "X" || event["tid"] != 7) continue;
    const int64_t end = event["ts"].get<int64_t>() + event["dur"].get<int64_t>();
    ASSERT_GE(event["dur"].get<int64_t>(), 0);
    ASSERT_GE(event["ts"].get<int64_t>(), begin);
    begin = event["ts"].get<int64_t>();
    while (!ends.empty() && ends.back() <= begin && end > ends.back()) ends.pop_back();
    ASSERT_LE(end, ends.empty() ? end : ends.back());
    ends.push_back(end);
  }
}

std::vector<Json> events_of(const Json& json, const std::string& category) {
  std::vector<Json> events;
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] == "X" && event["cat"] == category) events.push_back(event);
  }
  return events;
}

int64_t launches_in(const Json& json) {
  int64_t nanoseconds = 0;
  for (const Json& event : events_of(json, "kernel")) nanoseconds += event["args"]["ns"].get<int64_t>();
  return nanoseconds;
}

TEST(ChromeTrace, HasTheFieldsThatViewersNeed) {
  const TracedRecord traced = test::small_trace();
  const std::string text = chrome_trace({&traced, 1}, {});
  EXPECT_THAT(text, HasSubstr("\"rank\": 0"));  // Holistic Trace Analysis (HTA) needs the space
  EXPECT_THAT(
      text,
      HasSubstr(
          R"({"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":7,"ts":50,"dur":10,"args":{"ns":10000}})"));
  EXPECT_THAT(text, HasSubstr(R"x("name":"softmax","pid":0,"tid":7,"ts":53,"dur":1,"args":{"ns":1500,"stream":7,)x"
                              R"x("kernel":"rows_avx2","launch":1,"class":"matmul",)x"
                              R"x("signature":"softmax(float32 [4, 8])","FLOP":64.0,"bytes":128}})x"));
  EXPECT_THAT(text, HasSubstr(R"("ts":51,"args":{"parameter":256,"activation":64,"gradient":0}})"));
  EXPECT_THAT(text, HasSubstr(R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":0,"tid":1,"ts":50,)"));
  const Json json = Json::parse(text);
  expect_nested(json);
  EXPECT_EQ(json["laptime"]["left_out"].size(), 1U);  // one note, on the omitted steps
  EXPECT_EQ(Json::parse(chrome_trace({&traced, 1}, {.steps = ExportedSteps::kAll}))["laptime"]["left_out"].size(), 0U);
}

TEST(ChromeTrace, NamesTheMachineOfItsTimes) {
  TracedRecord traced = test::small_trace();
  traced.record.machine.json()["cpu_model"] = "Example CPU";
  const auto written = [&] { return Json::parse(chrome_trace({&traced, 1}, {})); };
  EXPECT_EQ(written()["deviceProperties"][0]["name"], "Example CPU");
  EXPECT_EQ(written()["laptime"]["predicted"], false);
  EXPECT_EQ(written()["laptime"]["fingerprint"], traced.record.fingerprint);
  traced.record.machine.json()["card"]["name"] = "NVIDIA H200";
  EXPECT_EQ(written()["deviceProperties"][0]["name"], "NVIDIA H200");
  traced.record.config.json()["device"] = "roofline:h100";
  EXPECT_EQ(written()["deviceProperties"][0]["name"], "h100 (predicted)");
  EXPECT_EQ(written()["laptime"]["predicted"], true);
  EXPECT_EQ(written()["laptime"]["fingerprint"], nullptr);
}

TEST(ChromeTrace, StatesTheNumberOfRanks) {
  TracedRecord traced = test::small_trace();
  const auto world = [&] { return Json::parse(chrome_trace({&traced, 1}, {}))["distributedInfo"]["world_size"]; };
  EXPECT_EQ(world(), 1);
  traced.record.config.json()["ranks"] = 2;
  EXPECT_EQ(world(), 2);
}

// HTA rounds starts up and ends down, so consecutive launches must begin and end on whole microseconds.
TEST(ChromeTrace, HasNoGapsBetweenMicrosecondLaunches) {
  const TracedRecord traced = test::long_trace(2);
  const std::vector<Json> kernels = events_of(Json::parse(chrome_trace({&traced, 1}, {})), "kernel");
  int64_t busy = kernels.front()["dur"].get<int64_t>();
  for (size_t i = 1; i < kernels.size(); ++i) {
    EXPECT_TRUE(kernels[i]["ts"].is_number_integer() && kernels[i]["dur"].is_number_integer());
    EXPECT_EQ(kernels[i]["ts"], kernels[i - 1]["ts"].get<int64_t>() + kernels[i - 1]["dur"].get<int64_t>());
    busy += kernels[i]["dur"].get<int64_t>();
  }
  int64_t expected = 0;
  for (const int64_t launch : traced.trace->steps[0].launches) expected += launch;
  EXPECT_NEAR(static_cast<double>(busy), 1e-3 * static_cast<double>(expected), 1);
}

TEST(ChromeTrace, LinksKernelsToTheirSteps) {
  const TracedRecord traced = test::small_trace();
  const Json json = Json::parse(chrome_trace({&traced, 1}, {.steps = ExportedSteps::kAll}));
  const std::vector<Json> steps = events_of(json, "user_annotation");
  const std::vector<Json> launches = events_of(json, "cuda_runtime");
  const std::vector<Json> kernels = events_of(json, "kernel");
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[2]["name"], "ProfilerStep#3");
  ASSERT_EQ(launches.size(), kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(launches[i]["args"]["correlation"], kernels[i]["args"]["correlation"]);
    const Json& step = steps.at(i / 6);
    EXPECT_GE(launches[i]["ts"].get<double>(), step["ts"].get<double>());
    EXPECT_LT(launches[i]["ts"].get<int64_t>(), step["ts"].get<int64_t>() + step["dur"].get<int64_t>());
  }
}

TEST(ChromeTrace, MemoryEventsOfConsecutiveStepsConnect) {
  const TracedRecord traced = test::small_trace();  // a gradient of 64 bytes outlives each step
  const Json json = Json::parse(chrome_trace({&traced, 1}, {.steps = ExportedSteps::kAll}));
  std::set<int64_t> alive;  // addresses
  int64_t total = 256;      // resident bytes
  int64_t time = 0;
  int64_t events = 0;
  for (const Json& event : json["traceEvents"]) {
    if (event["name"] != "[memory]") continue;
    const Json& args = event["args"];
    const int64_t bytes = args["Bytes"].get<int64_t>();
    const int64_t address = args["Addr"].get<int64_t>();
    if (bytes > 0) {
      EXPECT_TRUE(alive.insert(address).second) << address;
    } else {
      EXPECT_EQ(alive.erase(address), 1U) << address;
    }
    total += bytes;
    EXPECT_EQ(args["Total Allocated"], total);
    EXPECT_GE(event["ts"].get<int64_t>(), time);
    time = event["ts"].get<int64_t>();
    ++events;
  }
  EXPECT_EQ(events, 3 * 5 + 2);  // three steps with three allocations and two frees each; the gradient is freed twice
  EXPECT_EQ(total, 256 + 64);
}

TEST(ChromeTrace, OmitsMoreDetailAsTheLimitShrinks) {
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

TEST(ChromeTrace, SlowStaysBelowFiveMegabytesForTheLongestStep) {
  const TracedRecord traced = test::long_trace(600);  // 12,000 launches; 9 MB with all details
  EXPECT_LE(chrome_trace({&traced, 1}, {}).size(), kMaxTraceBytes);
}

}  // namespace
}  // namespace laptime
