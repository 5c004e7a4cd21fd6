// Inputs of pages that are made by hand, and where to find what a page says of them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/made_trace.h"
#include "record/time_stats.h"
#include "report/page/page.h"
#include "report/page/page_view.h"
#include "report/stored_records.h"

namespace laptime {

// The same step in float32 and bfloat16, of one run; the second takes half as long.
inline PageInput two_points() {
  Record slow = stored_records().front();
  slow.verdict = {"stable", {}};
  slow.time = {{"step", make_time_stats(std::vector{1.000, 1.001, 0.999, 1.002, 0.998, 1.000})}};
  slow.phases.clear();
  slow.classes.clear();
  Record fast = slow;
  fast.name = "step/model:small/ctx:256/dtype:bfloat16/mode:eager";
  fast.config.json()["dtype"] = "bfloat16";
  fast.math_mode = "bfloat16 autocast, float32 accumulation, some float32 products of three bfloat16 terms";
  fast.time = {{"step", make_time_stats(std::vector{0.500, 0.501, 0.499, 0.502, 0.498, 0.500})}};
  return {{slow, fast}, std::vector<std::optional<StepTrace>>(2)};
}

// Traced steps of `seconds`, of one launch in forward and one in backward.
inline StepTrace trace_of_steps(double seconds) {
  MadeTrace made;
  made.launch("forward", "layers.0.attn", "matmul");
  made.launch("backward", "layers.0.attn", "matmul");
  made.buffer(1 << 20, 0, 1, true);
  made.buffer(1 << 10, 0, 0, false, "workspace");
  made.resident(1 << 22, "parameter", "weight");
  StepTrace trace = made.trace;
  trace.resident_bytes = 1 << 22;
  trace.arena_bytes = (1 << 20) + (1 << 10);
  const auto half = static_cast<int64_t>(seconds * 0.5e9);
  for (int i = 0; i < 5; ++i) trace.steps.push_back({0, seconds, {half, half}});
  trace.untraced = std::vector<double>(5, seconds / 1.02);
  return trace;
}

inline Json section_of(const PageInput& input, const std::string& id) {
  const Json page = Json::parse(page_data(input));
  for (const Json& section : page["sections"]) {
    if (section["id"] == id) return section;
  }
  return {};
}

inline std::string answer_to(const Json& section, const std::string& word) {
  for (const Json& question : section["questions"]) {
    if (question["question"].get<std::string>().find(word) != std::string::npos)
      return question["answers"][0].get<std::string>();
  }
  return "";
}

}  // namespace laptime
