// Baselines, found by the rest of their configuration.
#include "report/speedup.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace laptime {
namespace {

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
constexpr std::array kEagerMayDiffer{"dtype", "mode", "keep", "lower", "recompute"};
constexpr std::array kWholeMayDiffer{"keep", "lower"};
std::string eager_point_of(const Record& record) { return point_without(record, kEagerMayDiffer); }
std::string whole_point_of(const Record& record) { return point_without(record, kWholeMayDiffer); }

bool lowers_nothing(const Record& record) {
  const Json& config = record.config.json();
  const auto unset = [&](const char* key) { return !config.contains(key) || config[key].is_null(); };
  return unset("keep") && unset("lower");
}

size_t differing_options(const JsonObject& a, const JsonObject& b) {
  return static_cast<size_t>(std::count_if(kEagerMayDiffer.begin(), kEagerMayDiffer.end(),
                                           [&](const char* key) { return a.text(key) != b.text(key); }));
}

const TimeStats* time_of(const Record& record, const std::map<std::string, TimeStats>& times, std::string_view phase) {
  const auto found = times.find(phase.empty() ? record.config.text("pass") : std::string(phase));
  return found == times.end() ? nullptr : &found->second;
}

std::optional<TimeRatio> ratio(const TimeStats* above, const TimeStats* below) {
  return above == nullptr || below == nullptr ? std::nullopt : ratio_of_medians(*above, *below);
}

}  // namespace

Baselines::Baselines(std::span<const Record> records) {
  for (const Record& record : records) add(record);
}

void Baselines::add(const Record& record) {
  if (record.status != Status::kOk || record.run.empty()) return;
  const bool eager = record.config.text("mode") == "eager";
  const Baseline baseline{record.config, record.time};
  if (eager && record.config.text("dtype") == "float32") eager_[eager_point_of(record)].push_back(baseline);
  if (!eager && lowers_nothing(record)) whole_[whole_point_of(record)].push_back(baseline);
}

std::optional<TimeRatio> Baselines::speedup(const Record& record, std::string_view phase) const {
  const Baseline* baseline = find(eager_, eager_point_of(record), record);
  return baseline == nullptr ? std::nullopt
                             : ratio(time_of(record, baseline->time, phase), time_of(record, record.time, phase));
}

std::optional<TimeRatio> Baselines::gain(const Record& record, std::string_view phase) const {
  const Baseline* baseline = find(whole_, whole_point_of(record), record);
  return baseline == nullptr ? std::nullopt
                             : ratio(time_of(record, record.time, phase), time_of(record, baseline->time, phase));
}

const Baselines::Baseline* Baselines::find(const ByPoint& baselines, const std::string& point, const Record& record) {
  const auto found = baselines.find(point);
  if (record.status != Status::kOk || found == baselines.end()) return nullptr;
  const Baseline* nearest = nullptr;
  size_t fewest = 0;
  for (const Baseline& candidate : found->second) {
    const size_t differing = differing_options(candidate.config, record.config);
    if (nearest == nullptr || differing <= fewest) {  // of equals the newest
      nearest = &candidate;
      fewest = differing;
    }
  }
  return nearest;
}

}  // namespace laptime
