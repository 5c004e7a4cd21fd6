// Baselines, found by the rest of their configuration.
#include "report/speedup.h"

#include <nlohmann/json.hpp>

namespace laptime {
namespace {

// Equal for records that differ in nothing but dtype and mode. Keys are sorted: the order of writing says nothing.
std::string point_of(const Record& record) {
  nlohmann::json config(record.config.json());
  for (const char* key : {"dtype", "mode", "timeout"}) config.erase(key);
  if (record.stopping.rule != "fixed") {  // these are what the rule came to
    for (const char* key : {"warmup", "steps"}) config.erase(key);
  }
  return record.fingerprint + '\n' + config.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Baselines::Baselines(std::span<const Record> records) {
  for (const Record& record : records) add(record);
}

void Baselines::add(const Record& record) {
  const bool is_baseline = record.config.text("dtype") == "float32" && record.config.text("mode") == "eager";
  if (record.status == Status::kOk && is_baseline) by_point_[point_of(record)].push_back({record.run, record.time});
}

std::optional<double> Baselines::speedup(const Record& record, std::string_view phase) const {
  if (record.status != Status::kOk) return std::nullopt;
  const auto found = by_point_.find(point_of(record));
  if (found == by_point_.end()) return std::nullopt;
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
