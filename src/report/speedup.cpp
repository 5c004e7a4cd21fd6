// Baselines, found by the rest of their configuration.
#include "report/speedup.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "distribution/verdict.h"
#include "record/metrics.h"

namespace laptime {
namespace {

// The options that say how a step is computed, in the order in which a header names them.
constexpr std::array kMayDiffer{"dtype",        "mode",    "float32_precision",    "reproducible",
                                "keep",         "lower",   "kernels_file",         "recompute",
                                "memory_limit", "threads", "optimizer_in_backward"};
constexpr std::array<const char*, 2> kWholeMayDiffer{"keep", "lower"};
constexpr std::string_view kThreads = "threads";

// Equal for records of one command that differ in nothing but these keys. Keys are sorted: the order of writing says
// nothing.
std::string point_without(const Record& record, std::span<const char* const> keys) {
  nlohmann::json config(record.config.json());
  for (const char* key : keys) config.erase(key);
  config.erase("timeout");
  if (record.stopping.rule != "fixed") {  // the stopping rule chose these
    for (const char* key : {"warmup", "steps"}) config.erase(key);
  }
  return record.fingerprint + '\n' + record.run + '\n' +
         config.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}
std::string whole_point_of(const Record& record) { return point_without(record, kWholeMayDiffer); }

bool lowers_nothing(const Record& record) {
  const Json& config = record.config.json();
  const auto unset = [&](const char* key) { return !config.contains(key) || config[key].is_null(); };
  return unset("keep") && unset("lower");
}

// The value that a baseline has wherever its run has it; empty for options that have no such value.
std::string_view usual_value(std::string_view key) {
  if (key == "dtype") return "float32";
  return key == "mode" ? "eager" : "";
}

const TimeStats* time_of(const Record& record, const std::map<std::string, TimeStats>& times, std::string_view phase) {
  const auto found = times.find(phase.empty() ? record.config.text("pass") : std::string(phase));
  return found == times.end() ? nullptr : &found->second;
}

}  // namespace

Baselines::Baselines(std::span<const Record> records) {
  for (const Record& record : records) plan(record);
  for (const Record& record : records) add(record);
}

void Baselines::plan(const Record& record) {
  std::map<std::string, Seen>& seen = runs_[record.run];
  for (const char* const key : kMayDiffer) {
    const std::string value = record.config.text(key);
    const bool unknown = key == kThreads && (value.empty() || value == "null");  // of a device that has none
    if (unknown) continue;
    Seen& of_key = seen[key];
    if (of_key.values.empty()) of_key.first = value;
    of_key.values.insert(value);
  }
}

// Points to come have no run yet, and are of one command.
Baselines::Values Baselines::values_of(const std::string& run) const {
  auto found = runs_.find(run);
  if (found == runs_.end()) found = runs_.find("");
  Values values;
  if (found == runs_.end()) return values;
  for (const auto& [key, seen] : found->second) {
    if (seen.values.size() < 2) continue;
    const std::string usual(usual_value(key));
    values[key] = seen.values.contains(usual) && !usual.empty() ? usual : seen.first;
  }
  return values;
}

std::vector<std::string> Baselines::descriptions() const {
  std::vector<std::string> descriptions;
  for (const auto& [run, seen] : runs_) {
    const Values values = values_of(run);
    std::string text;
    for (const char* const key : kMayDiffer) {
      const auto value = values.find(key);
      if (value == values.end()) continue;
      const std::string shown = value->second.empty() || value->second == "null" ? "none" : value->second;
      text += (text.empty() ? "" : " ") + (usual_value(key).empty() ? key + (":" + shown) : shown);
    }
    if (text.empty() || std::find(descriptions.begin(), descriptions.end(), text) != descriptions.end()) continue;
    descriptions.push_back(text);
  }
  return descriptions;
}

std::string Baselines::point_of(const Record& record) const {
  std::vector<const char*> keys;
  const Values values = values_of(record.run);
  for (const char* const key : kMayDiffer) {
    if (values.contains(key)) keys.push_back(key);
  }
  return keys.empty() ? "" : point_without(record, keys);
}

bool Baselines::is_baseline(const Record& record) const {
  const Values values = values_of(record.run);
  return !values.empty() && std::all_of(values.begin(), values.end(), [&](const auto& value) {
    return record.config.text(value.first) == value.second;
  });
}

void Baselines::add(const Record& record) {
  if (record.status != Status::kOk || record.run.empty()) return;
  const Baseline baseline{record.config, is_predicted(record),
                          record.verdict.rating != name_of(Stability::kNoSteadyState), record.time};
  if (is_baseline(record)) baselines_[point_of(record)] = baseline;
  if (record.config.text("mode") != "eager" && lowers_nothing(record)) whole_[whole_point_of(record)] = baseline;
}

std::optional<TimeRatio> Baselines::speedup(const Record& record, std::string_view phase) const {
  const std::string point = point_of(record);
  return point.empty() ? std::nullopt : compared(baselines_, point, record, phase, /*inverse=*/false);
}

std::optional<TimeRatio> Baselines::gain(const Record& record, std::string_view phase) const {
  return compared(whole_, whole_point_of(record), record, phase, /*inverse=*/true);
}

std::optional<TimeRatio> Baselines::compared(const ByPoint& baselines, const std::string& point, const Record& record,
                                             std::string_view phase, bool inverse) {
  const auto found = baselines.find(point);
  const bool steady = record.verdict.rating != name_of(Stability::kNoSteadyState);
  if (record.status != Status::kOk || found == baselines.end() || !steady || !found->second.steady ||
      found->second.predicted != is_predicted(record)) {
    return std::nullopt;
  }
  const TimeStats* const baseline = time_of(record, found->second.time, phase);
  const TimeStats* const own = time_of(record, record.time, phase);
  if (baseline == nullptr || own == nullptr) return std::nullopt;
  std::optional<TimeRatio> ratio = inverse ? ratio_of_medians(*own, *baseline) : ratio_of_medians(*baseline, *own);
  if (ratio && found->second.predicted) ratio->interval.reset();
  return ratio;
}

}  // namespace laptime
