// Baselines, found by the rest of their configuration.
#include "report/speedup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "distribution/steady_state.h"
#include "distribution/verdict.h"
#include "record/metrics.h"

namespace laptime {
namespace {

// The options that say how a step is computed, in the order in which a header names them.
constexpr std::array kMayDiffer{"dtype",        "mode",    "float32_precision",     "reproducible",
                                "keep",         "lower",   "kernels_file",          "recompute",
                                "memory_limit", "threads", "optimizer_in_backward", "moments"};
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

// Whether the step of the record has every composite whole.
bool is_whole(const Record& record) {
  const Json& config = record.config.json();
  const auto unset = [&](const char* key) { return !config.contains(key) || config[key].is_null(); };
  return record.config.text("mode") != "eager" && unset("keep") && unset("lower");
}

// The value that a baseline has wherever its run has it; empty for options that have no such value.
std::string_view usual_value(std::string_view key) {
  if (key == "dtype") return "float32";
  return key == "mode" ? "eager" : "";
}

// Of the values of one option the one that others are compared with: none of it, else the least number, else the first
// by name.
std::string plainest(const std::set<std::string>& values) {
  for (const char* const none : {"", "null", "none", "false"}) {
    if (values.contains(none)) return none;
  }
  const auto as_number = [](const std::string& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
  };
  std::optional<double> least;
  std::string plain = *values.begin();
  for (const std::string& value : values) {
    const std::optional<double> number = as_number(value);
    if (!number || (least && *least <= *number)) continue;
    least = number;
    plain = value;
  }
  return plain;
}

// A noisy time may be one of too few steps as well: the worst word is the verdict.
bool has_few_steps(const Record& record) {
  const Json& config = record.config.json();
  const auto number = [&](const char* key) {
    const auto found = config.find(key);
    return found != config.end() && found->is_number() ? found->get<double>() : 2.0 * kSteadyWindow;
  };
  const auto steps_per_sample = static_cast<double>(record.stopping.steps_per_sample.value_or(1));
  return number("warmup") + number("steps") * steps_per_sample < 2.0 * kSteadyWindow;
}

// The verdict on a record that keeps its time from being compared.
std::optional<Stability> untrusted(const Record& record) {
  const std::string& rating = record.verdict.rating;
  if (rating == name_of(Stability::kNoisy) && has_few_steps(record)) return Stability::kUntested;
  for (const Stability stability : {Stability::kNoSteadyState, Stability::kUntested, Stability::kUnstable}) {
    if (rating == name_of(stability)) return stability;
  }
  return {};
}

std::string in_words(Stability stability) {
  return stability == Stability::kNoSteadyState ? "no steady state" : std::string(name_of(stability));
}
// The baseline did not run to its end.
std::string in_words_of_baseline(Status status) {
  switch (status) {
    case Status::kOutOfMemory: return "baseline too large";
    case Status::kUnsupported: return "baseline refused";
    case Status::kInterrupted: return "baseline partial";
    default: return fmt::format("baseline {}", name_of(status));
  }
}
std::string in_words_of_baseline(Stability stability) {
  return "baseline " + (stability == Stability::kNoSteadyState ? "unsteady" : std::string(name_of(stability)));
}

const TimeStats* time_of(const Record& record, const std::map<std::string, TimeStats>& times, std::string_view phase) {
  const auto found = times.find(phase.empty() ? record.config.text("pass") : std::string(phase));
  return found == times.end() ? nullptr : &found->second;
}

// How far apart the samples of a time lie, as a fraction of it; a drift shows in it too. None from too few samples.
std::optional<double> spread_of(const TimeStats& time) {
  constexpr int64_t kFewest = 3;
  if (time.count < kFewest || !time.p10 || !time.p90 || time.median <= 0) return std::nullopt;
  return (*time.p90 - *time.p10) / time.median;
}

}  // namespace

bool is_beyond_doubt(double ratio, const TimeStats& a, const TimeStats& b) {
  const std::optional<double> spread_a = spread_of(a);
  const std::optional<double> spread_b = spread_of(b);
  return ratio > 0 && spread_a && spread_b && std::abs(std::log(ratio)) > kBeyondSpread * (*spread_a + *spread_b);
}

std::string verdict_against_comparing(const Record& record) {
  const std::optional<Stability> own = untrusted(record);
  return own ? in_words(*own) : "";
}

Baselines::Baselines(std::span<const Record> records) {
  for (const Record& record : records) plan(record);
  for (const Record& record : records) add(record);
}

void Baselines::plan(const Record& record) {
  std::map<std::string, std::set<std::string>>& seen = runs_[record.run];
  for (const char* const key : kMayDiffer) {
    const std::string value = record.config.text(key);
    const bool unknown = key == kThreads && (value.empty() || value == "null");  // of a device that has none
    if (unknown) continue;
    seen[key].insert(value);
  }
}

// Points to come have no run yet, and are of one command.
Baselines::Values Baselines::values_of(const std::string& run) const {
  auto found = runs_.find(run);
  if (found == runs_.end()) found = runs_.find("");
  Values values;
  if (found == runs_.end()) return values;
  for (const auto& [key, seen] : found->second) {
    if (seen.size() < 2) continue;
    const std::string usual(usual_value(key));
    values[key] = seen.contains(usual) && !usual.empty() ? usual : plainest(seen);
  }
  return values;
}

std::string Baselines::text_of(const Values& values) {
  std::string text;
  for (const char* const key : kMayDiffer) {
    const auto value = values.find(key);
    if (value == values.end()) continue;
    const std::string shown = value->second.empty() || value->second == "null" ? "none" : value->second;
    text += (text.empty() ? "" : " ") + (usual_value(key).empty() ? key + (":" + shown) : shown);
  }
  return text;
}

std::string Baselines::description_for(const Record& record) const { return text_of(values_of(record.run)); }

std::vector<std::string> Baselines::descriptions() const {
  std::vector<std::string> descriptions;
  for (const auto& [run, seen] : runs_) {
    std::string text = text_of(values_of(run));
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
  if (record.run.empty()) return;
  if (record.status != Status::kOk) {
    if (is_baseline(record)) without_time_[point_of(record)] = record.status;
    if (is_whole(record)) without_time_[whole_point_of(record)] = record.status;
    return;
  }
  const Baseline baseline{record.name, record.config, is_predicted(record), untrusted(record), record.time};
  if (is_baseline(record)) baselines_[point_of(record)] = baseline;
  if (is_whole(record)) whole_[whole_point_of(record)] = baseline;
}

std::optional<TimeRatio> Baselines::speedup(const Record& record, std::string_view phase) const {
  const std::string point = point_of(record);
  return point.empty() ? std::nullopt : compared(baselines_, point, record, phase, false, Trust::kFull);
}

std::optional<TimeRatio> Baselines::rough_speedup(const Record& record, std::string_view phase) const {
  const std::string point = point_of(record);
  return point.empty() ? std::nullopt : compared(baselines_, point, record, phase, false, Trust::kRough);
}

std::optional<TimeRatio> Baselines::any_speedup(const Record& record, std::string_view phase) const {
  const std::string point = point_of(record);
  return point.empty() ? std::nullopt : compared(baselines_, point, record, phase, false, Trust::kAny);
}

std::optional<TimeRatio> Baselines::gain(const Record& record, std::string_view phase) const {
  return compared(whole_, whole_point_of(record), record, phase, true, Trust::kFull);
}

std::optional<TimeRatio> Baselines::rough_gain(const Record& record, std::string_view phase) const {
  return compared(whole_, whole_point_of(record), record, phase, true, Trust::kRough);
}

std::string Baselines::why_no_speedup(const Record& record, std::string_view phase) const {
  const std::string point = point_of(record);
  return point.empty() ? "" : why_none(baselines_, point, record, phase);
}
std::string Baselines::why_no_gain(const Record& record, std::string_view phase) const {
  return record.config.text("mode") == "eager" ? "not compiled"
                                               : why_none(whole_, whole_point_of(record), record, phase);
}

std::string Baselines::why_none(const ByPoint& baselines, const std::string& point, const Record& record,
                                std::string_view phase) const {
  if (record.status != Status::kOk) return "";
  const auto found = baselines.find(point);
  if (found == baselines.end()) {
    const auto status = without_time_.find(point);
    return status == without_time_.end() ? "no baseline" : in_words_of_baseline(status->second);
  }
  const bool is_itself = found->second.config == record.config;
  if (const auto own = untrusted(record); own && !is_itself) return in_words(*own);
  if (found->second.against) return in_words_of_baseline(*found->second.against);
  if (found->second.predicted != is_predicted(record))
    return found->second.predicted ? "baseline predicted" : "predicted";
  return time_of(record, found->second.time, phase) == nullptr ? "no such phase" : "";
}

std::optional<Uncompared> Baselines::uncompared(const Record& record) const {
  const auto found = baselines_.find(point_of(record));
  if (record.status != Status::kOk || found == baselines_.end() || found->second.config == record.config) return {};
  std::optional<Stability> against = untrusted(record);
  if (!against) against = found->second.against;
  if (!against) return {};
  return Uncompared{*against, {found->second.name, found->second.config}};
}

std::optional<TimeRatio> Baselines::compared(const ByPoint& baselines, const std::string& point, const Record& record,
                                             std::string_view phase, bool inverse, Trust trust) {
  const auto found = baselines.find(point);
  if (record.status != Status::kOk || found == baselines.end() || found->second.predicted != is_predicted(record))
    return std::nullopt;
  const bool is_doubted = untrusted(record) || found->second.against;
  if (trust != Trust::kAny && is_doubted != (trust == Trust::kRough)) return std::nullopt;
  const TimeStats* const baseline = time_of(record, found->second.time, phase);
  const TimeStats* const own = time_of(record, record.time, phase);
  if (baseline == nullptr || own == nullptr) return std::nullopt;
  std::optional<TimeRatio> ratio = inverse ? ratio_of_medians(*own, *baseline) : ratio_of_medians(*baseline, *own);
  if (ratio && trust == Trust::kRough && !is_beyond_doubt(ratio->value, *own, *baseline)) return std::nullopt;
  if (ratio && (is_doubted || found->second.predicted)) ratio->interval.reset();
  return ratio;
}

}  // namespace laptime
