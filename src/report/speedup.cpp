// Baselines, found by the rest of their configuration.
#include "report/speedup.h"

#include <nlohmann/json.hpp>

namespace laptime {
namespace {

// Equal for records that differ in nothing but these keys. Keys are sorted: the order of writing says nothing.
std::string point_without(const Record& record, std::initializer_list<const char*> keys) {
  nlohmann::json config(record.config.json());
  for (const char* key : keys) config.erase(key);
  config.erase("timeout");
  if (record.stopping.rule != "fixed") {  // the stopping rule chose these
    for (const char* key : {"warmup", "steps"}) config.erase(key);
  }
  return record.fingerprint + '\n' + config.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}
std::string eager_point_of(const Record& record) {
  return point_without(record, {"dtype", "mode", "keep", "lower", "recompute"});
}
std::string whole_point_of(const Record& record) { return point_without(record, {"keep", "lower"}); }

bool lowers_nothing(const Record& record) {
  const Json& config = record.config.json();
  const auto unset = [&](const char* key) { return !config.contains(key) || config[key].is_null(); };
  return unset("keep") && unset("lower");
}

}  // namespace

Baselines::Baselines(std::span<const Record> records) {
  for (const Record& record : records) add(record);
}

void Baselines::add(const Record& record) {
  if (record.status != Status::kOk) return;
  const bool eager = record.config.text("mode") == "eager";
  if (eager && record.config.text("dtype") == "float32")
    eager_[eager_point_of(record)].push_back({record.run, record.time});
  if (!eager && lowers_nothing(record)) whole_[whole_point_of(record)].push_back({record.run, record.time});
}

std::optional<double> Baselines::speedup(const Record& record, std::string_view phase) const {
  return times_faster(eager_, eager_point_of(record), record, phase);
}

std::optional<double> Baselines::gain(const Record& record, std::string_view phase) const {
  const std::optional<double> faster = times_faster(whole_, whole_point_of(record), record, phase);
  return faster ? std::optional(1 / *faster) : std::nullopt;
}

std::optional<double> Baselines::times_faster(const ByPoint& baselines, const std::string& point, const Record& record,
                                              std::string_view phase) {
  if (record.status != Status::kOk) return std::nullopt;
  const auto found = baselines.find(point);
  if (found == baselines.end()) return std::nullopt;
  const Baseline* baseline = &found->second.back();
  for (const Baseline& candidate : found->second) {
    if (candidate.run == record.run) baseline = &candidate;
  }
  const std::string name = phase.empty() ? record.config.text("pass") : std::string(phase);
  const auto slow = baseline->time.find(name);
  const auto fast = record.time.find(name);
  const bool known = slow != baseline->time.end() && fast != record.time.end() && fast->second.median > 0;
  return known ? std::optional(slow->second.median / fast->second.median) : std::nullopt;
}

}  // namespace laptime
