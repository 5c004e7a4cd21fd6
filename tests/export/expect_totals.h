// Adds up the times and bytes in the output of each format, and expects the same totals in all of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "export/formats.h"
#include "export/traced_step.h"

namespace laptime::test {

using Totals = std::map<std::string, int64_t>;  // nanoseconds by name

// "forward", "backward", "optimizer", "step", and "launches".
inline Totals totals_of_trace(const std::string& text) {
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

inline Totals totals_of_stacks(const std::string& text) {
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

// Totals by kernel name, the last cell of each row.
inline Totals totals_of_nsys(const std::string& text, size_t name_column) {
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

inline void expect_equal_totals(const TracedRecord& traced, ExportedSteps steps) {
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

// The peak of the byte counters in a trace.
inline int64_t peak_of_counters(const std::string& text) {
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

inline int64_t peak_of_memory_events(const std::string& text) {
  int64_t peak = 0;
  const Json json = Json::parse(text);
  for (const Json& event : json["traceEvents"]) {
    if (event["name"] == "[memory]") peak = std::max(peak, event["args"]["Total Allocated"].get<int64_t>());
  }
  return peak;
}

inline void expect_the_peak(const TracedRecord& traced) {
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

}  // namespace laptime::test
