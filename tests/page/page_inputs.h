// Handmade inputs of pages.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/made_trace.h"
#include "page/page.h"
#include "record/time_stats.h"
#include "report/stored_records.h"

namespace laptime {

// A step that takes `seconds` for each of its phases.
inline Record made_record(const std::string& context, const std::string& dtype, const std::string& mode,
                          const std::map<std::string, double>& seconds) {
  Record record = stored_records().front();
  record.name = "step/model:small/ctx:" + context + "/dtype:" + dtype + "/mode:" + mode;
  record.config.json()["pass"] = "step";
  record.config.json()["context_length"] = std::stoi(context);
  record.config.json()["dtype"] = dtype;
  record.config.json()["mode"] = mode;
  record.verdict = {"stable", {}};
  record.phases.clear();
  record.classes.clear();
  record.time.clear();
  double whole = 0;
  const auto times = [](double median) {
    return make_time_stats(
        std::vector{0.99 * median, median, 1.01 * median, median, 0.98 * median, 1.02 * median, median});
  };
  for (const auto& [phase, median] : seconds) {
    record.time[phase] = times(median);
    whole += median;
  }
  record.time["step"] = times(whole);
  return record;
}

// Two number types in two modes at context 128, and float32 eager at context 256.
inline PageInput five_points() {
  const auto point = [](const char* context, const char* dtype, const char* mode, double forward, double optimizer) {
    return made_record(context, dtype, mode,
                       {{"forward", forward}, {"backward", 2 * forward}, {"optimizer", optimizer}});
  };
  PageInput input;
  input.records = {point("128", "float32", "eager", 0.2, 0.4), point("128", "float32", "compile", 0.2, 0.1),
                   point("128", "bfloat16", "eager", 0.1, 0.4), point("128", "bfloat16", "compile", 0.1, 0.1),
                   point("256", "float32", "eager", 0.1, 0.1)};
  input.traces.resize(input.records.size());
  return input;
}

// Two launches in forward and one in backward, 10.1 ms in all, with the limits of a machine.
inline StepTrace timed_trace() {
  MadeTrace made;
  made.launch("forward", "layers.0.attn", "matmul", 0, "attn");
  made.launch("forward", "layers.0.ffn", "add", 0, "ffn");
  made.launch("backward", "layers.0.ffn", "matmul", 0, "ffn");
  made.buffer(1 << 20, 0, 2, true);
  made.buffer(1 << 19, 1, 2, false);
  made.resident(1 << 21, "parameter", "weight");
  StepTrace trace = made.trace;
  trace.resident_bytes = 1 << 21;
  trace.arena_bytes = (1 << 20) + (1 << 19);
  trace.launches.flops = {2e9, 1e6, 4e9};
  trace.launches.bytes = {1 << 20, 1 << 20, 1 << 21};
  for (int i = 0; i < 6; ++i) trace.steps.push_back({0, 0.0101, {3'000'000, 1'000'000, 6'000'000}});
  trace.untraced = {0.01, 0.01, 0.01, 0.01, 0.01, 0.01};
  trace.peak_flops = 1e12;
  trace.bandwidth = 1e10;
  return trace;
}

inline nlohmann::ordered_json data_of(const PageInput& input) {
  return nlohmann::ordered_json::parse(page_data(input));
}

}  // namespace laptime
