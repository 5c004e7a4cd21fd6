// Records and traces with unknown numbers, and a search for impossible values in a text.
#pragma once

#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "record/record.h"
#include "record/step_trace.h"
#include "report/stored_records.h"

namespace laptime {

// The values that mean "unknown" in records and in the programs that write them.
inline std::vector<Json> unknown_numbers() {
  return {nullptr, 0, -1, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
}

// Replaces every number in `json` by `number`, except the schema version, the configuration, and counts and shares that
// a parser checks. An integer cannot be null, so it becomes 0 instead.
inline void replace_numbers(Json& json, const Json& number) {
  if (json.is_number()) json = json.is_number_integer() && number.is_null() ? Json(0) : number;
  if (json.is_array()) {
    for (Json& element : json) replace_numbers(element, number);
  }
  if (!json.is_object()) return;
  for (auto& [key, value] : json.items()) {
    const bool is_checked = key == "schema_version" || key == "config" || key == "count" || key == "lost";
    if (!is_checked) replace_numbers(value, number);
  }
}

// The stored records after replace_numbers().
inline std::vector<Record> records_with(const Json& number) {
  std::vector<Record> records;
  std::ifstream file(kReportGolden + "records.jsonl");
  for (std::string line; std::getline(file, line);) {
    Json json = Json::parse(line);
    replace_numbers(json, number);
    records.push_back(parse_record(json.dump()));
  }
  return records;
}

// Sets all rates and the cost of a mark to `number`. Sets the times of steps to 0, because a trace with infinite or NaN
// times would be rejected when it is read.
inline StepTrace trace_with(StepTrace trace, double number) {
  for (TracedStep& step : trace.steps) {
    step.total = 0;
    for (int64_t& nanoseconds : step.launches) nanoseconds = 0;
  }
  for (double& seconds : trace.untraced) seconds = 0;
  trace.peak_flops = trace.bandwidth = trace.datasheet_flops = trace.datasheet_bandwidth = trace.mark = number;
  return trace;
}

// The text around the first nan, infinity or impossible size (PiB or EiB); empty if there is none.
inline std::string impossible_word(std::string_view text) {
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end])) != 0) ++end;
    const std::string_view word = text.substr(begin, end - begin);
    for (const std::string_view wrong : {"nan", "inf", "NaN", "Infinity", "PiB", "EiB"}) {
      if (word == wrong) return std::string(text.substr(begin < 40 ? 0 : begin - 40, 80));
    }
    begin = end + 1;
  }
  return "";
}

}  // namespace laptime
