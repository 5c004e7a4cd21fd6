// Samples as the JSON that hyperfine writes and its scripts read.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "export/writers.h"

namespace laptime {
namespace {

// Keys of the configuration whose values differ between the records. The scripts plot by the one parameter that varies.
std::vector<std::string> varying_keys(const std::vector<const Record*>& records) {
  std::vector<std::string> keys;
  for (const Record* const record : records) {
    for (const auto& [key, value] : record->config.json().items()) {
      const bool varies = std::any_of(records.begin(), records.end(), [&, &key = key](const Record* other) {
        return other->config.text(key) != record->config.text(key);
      });
      if (varies && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  return keys;
}

Json result_of(const Record& record, const TimeStats& time, const std::vector<std::string>& keys) {
  Json result{{"command", record.name}, {"mean", time.mean}, {"stddev", time.std ? Json(*time.std) : Json(nullptr)},
              {"median", time.median},  {"user", nullptr},  // not known of a single step
              {"system", nullptr},      {"min", time.min},   {"max", time.max},
              {"times", time.samples}};
  if (record.memory.peak_rss_bytes)
    result["memory_usage_byte"] = std::vector<int64_t>(time.samples.size(), *record.memory.peak_rss_bytes);
  result["exit_codes"] = std::vector<int>(time.samples.size(), 0);
  if (!keys.empty()) {
    Json& parameters = result["parameters"] = Json::object();
    for (const std::string& key : keys) parameters[key] = record.config.text(key);
  }
  return result;
}

}  // namespace

std::string hyperfine(std::span<const TracedRecord> records, const ExportOptions& /*options*/) {
  std::vector<const Record*> timed;
  for (const TracedRecord& traced : records) {
    if (traced.record.status == Status::kOk && traced.record.main_time() != nullptr) timed.push_back(&traced.record);
  }
  const std::vector<std::string> keys = varying_keys(timed);
  Json results = Json::array();
  for (const Record* const record : timed) results.push_back(result_of(*record, *record->main_time(), keys));
  const Json document{{"results", std::move(results)}};
  return document.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace laptime
