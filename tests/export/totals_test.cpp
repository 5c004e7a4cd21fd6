// Total times and bytes, computed from the output of each format, are equal in all formats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "export/formats.h"
#include "export/traced_step.h"
#include "measure/run_one.h"
#include "small_trace.h"
#include "support/points.h"

namespace laptime {
namespace {

using Totals = std::map<std::string, int64_t>;  // nanoseconds by name

// Totals with the names "forward", "backward", "optimizer", "step" and "launches".
Totals totals_of_trace(const std::string& text) {
  Totals totals;
  const Json json = Json::parse(text);
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] != "X" || event["tid"] != 7) continue;
    const std::string name = event["cat"] == "kernel" ? "launches" : event["name"].get<std::string>();
    if (name == "launches" || name == "step" || name == "forward" || name == "backward" || name == "optimizer")
      totals[name] += event["args"]["ns"].get<int64_t>();
  }
  return totals;
}

Totals totals_of_stacks(const std::string& text) {
  Totals totals;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.rfind(' ');
    const int64_t nanoseconds = std::stoll(line.substr(space + 1));
    totals["step"] += nanoseconds;
    if (line.starts_with("step;residue ")) continue;
    totals["launches"] += nanoseconds;
    totals[line.substr(5, line.find(';', 5) - 5)] += nanoseconds;
  }
  return totals;
}

// Sums the nanoseconds in column 1 by name. Names are in column `name_column`, the last column.
Totals totals_of_nsys(const std::string& text, size_t name_column) {
  Totals totals;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    totals[cells.at(name_column)] += std::stoll(cells.at(1));
  }
  return totals;
}

void expect_equal_totals(const TracedRecord& traced, ExportedSteps steps) {
  const std::vector<TracedRecord> records{traced};
  ExportOptions options{.steps = steps, .report = NsysReport::kRanges};
  const Totals trace = totals_of_trace(chrome_trace(records, options));
  EXPECT_EQ(trace.at("launches"), trace.at("forward") + trace.at("backward") + trace.at("optimizer"));
  EXPECT_EQ(totals_of_stacks(folded_stacks(records, options)), trace);

  const Totals ranges = totals_of_nsys(nsys(records, options), 9);
  for (const char* const name : {"step", "forward", "backward", "optimizer"})
    EXPECT_EQ(ranges.at(std::string(":") + name), trace.at(name)) << name;
  options.report = NsysReport::kKernels;
  int64_t launches = 0;
  for (const auto& [name, total] : totals_of_nsys(nsys(records, options), 8)) launches += total;
  EXPECT_EQ(launches, trace.at("launches"));

  int64_t expected = 0;
  for (const TracedStep& step : traced.trace->steps) {
    if (steps == ExportedSteps::kOne && &step != &median_step(*traced.trace)) continue;
    for (const int64_t launch : step.launches) expected += launch;
  }
  EXPECT_EQ(launches, expected);
}

// The largest sum of all byte counters in one event.
int64_t peak_of_counters(const std::string& text) {
  int64_t peak = 0;
  const Json json = Json::parse(text);
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] != "C") continue;
    int64_t sum = 0;
    for (const auto& [role, bytes] : event["args"].items()) sum += bytes.get<int64_t>();
    peak = std::max(peak, sum);
  }
  return peak;
}

int64_t peak_of_memory_events(const std::string& text) {
  int64_t peak = 0;
  const Json json = Json::parse(text);
  for (const Json& event : json["traceEvents"]) {
    if (event["name"] == "[memory]") peak = std::max(peak, event["args"]["Total Allocated"].get<int64_t>());
  }
  return peak;
}

void expect_the_peak(const TracedRecord& traced) {
  const StepTrace& trace = *traced.trace;
  int64_t resident = 0;
  for (const size_t buffer : resident_buffers(trace)) resident += trace.buffers.bytes[buffer];
  int64_t at_peak = 0;
  int64_t alive = 0;
  int64_t most = 0;
  for (const MemoryChange& change : memory_changes(trace)) {
    alive += (change.is_alloc ? 1 : -1) * trace.buffers.bytes[change.buffer];
    most = std::max(most, alive);
    if (change.launch <= static_cast<size_t>(trace.peak_launch)) at_peak = alive;
  }
  EXPECT_EQ(at_peak, trace.live_peak_bytes);
  EXPECT_EQ(most, trace.live_peak_bytes);
  const std::string text = chrome_trace({&traced, 1}, {});
  EXPECT_EQ(peak_of_counters(text), resident + trace.live_peak_bytes);
  EXPECT_EQ(peak_of_memory_events(text), resident + trace.live_peak_bytes);
}

// Two traced steps of a model with two layers.
TracedRecord measured_trace(const std::string& mode) {
  const SweepPoint point = test::point_of({{"d-model", "32"},
                                           {"d-ff", "64"},
                                           {"num-layers", "2"},
                                           {"num-heads", "2"},
                                           {"vocab", "64"},
                                           {"batch", "1"},
                                           {"context", "16"},
                                           {"mode", mode},
                                           {"warmup", "1"},
                                           {"steps", "2"}});
  PointResult result = run_one(point, {}, {}, TraceRequest{true, 2});
  return {std::move(result.record), std::move(result.trace)};
}

TEST(Totals, TimesOfAHandmadeTraceMatchInEveryFormat) {
  const TracedRecord traced = test::small_trace();
  expect_equal_totals(traced, ExportedSteps::kOne);
  expect_equal_totals(traced, ExportedSteps::kAll);
  EXPECT_EQ(folded_stacks({&traced, 1}, {}),
            "step;forward;layers.0;attn;scaled dot product attention;computing attention scores;matmul 1500\n"
            "step;forward;layers.0;attn;scaled dot product attention;computing softmax;softmax 1500\n"
            "step;forward;layers.0;ffn;w1;matmul 1000\n"
            "step;forward;layers.1;ffn;w1;matmul 2000\n"
            "step;backward;layers.1;ffn;w1;matmul 2000\n"
            "step;optimizer;adamw 500\n"
            "step;residue 1500\n");
}

TEST(Totals, NsysReportListsKernelTotals) {
  const TracedRecord traced = test::small_trace();
  EXPECT_EQ(nsys({&traced, 1}, {}),
            "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
            "52.9,4500,3,1500.0,1500.0,1000,2000,500.0,matmul:tiles_avx2\n"
            "23.5,2000,1,2000.0,2000.0,2000,2000,0.0,matmul:onednn\n"
            "17.6,1500,1,1500.0,1500.0,1500,1500,0.0,softmax:rows_avx2\n"
            "5.9,500,1,500.0,500.0,500,500,0.0,adamw:fused\n");
}

TEST(Totals, PeakBytesOfAHandmadeTraceMatchInEveryFormat) { expect_the_peak(test::small_trace()); }

TEST(Totals, JsonLinesContainTheRecordAndItsTrace) {
  const TracedRecord traced = test::small_trace();
  const std::string line = json_lines({&traced, 1}, {});
  EXPECT_EQ(parse_record(line), traced.record);
  EXPECT_EQ(Json::parse(line)["trace"]["launches"]["flops"].size(), 6U);
  const TracedRecord untraced{traced.record, std::nullopt};
  EXPECT_EQ(json_lines({&untraced, 1}, {}), to_text(traced.record) + "\n");
}

TEST(MeasuredTrace, SlowNestsItsSlices) {
  for (const char* const mode : {"eager", "compile"}) {
    const TracedRecord traced = measured_trace(mode);
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

TEST(MeasuredTrace, SlowHasTheSameTimesInEveryFormat) {
  for (const char* const mode : {"eager", "compile"}) {
    const TracedRecord traced = measured_trace(mode);
    ASSERT_TRUE(traced.trace.has_value()) << traced.record.reason;
    expect_equal_totals(traced, ExportedSteps::kOne);
    expect_equal_totals(traced, ExportedSteps::kAll);
  }
}

TEST(MeasuredTrace, SlowHasTheSamePeakBytesInEveryFormat) {
  for (const char* const mode : {"eager", "compile"}) expect_the_peak(measured_trace(mode));
}

}  // namespace
}  // namespace laptime
