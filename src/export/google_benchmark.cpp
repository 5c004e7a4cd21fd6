// Samples as the JSON that Google Benchmark writes and its compare.py reads.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "export/writers.h"
#include "record/metrics.h"

namespace laptime {
namespace {

// A time of a record; records of one name are repetitions of one benchmark.
struct Family {
  std::string name;
  std::vector<double> seconds;
  const Record* record = nullptr;  // the first
  bool is_main = false;            // the pass that was asked for, not a phase of it
};

std::vector<Family> families_of(std::span<const TracedRecord> records) {
  std::vector<Family> families;
  std::map<std::string, size_t> index;
  for (const TracedRecord& traced : records) {
    const Record& record = traced.record;
    if (record.status != Status::kOk) continue;
    for (const auto& [pass, time] : record.time) {
      const bool is_main = &time == record.main_time();
      const std::string name = is_main ? record.name : fmt::format("{}/phase:{}", record.name, pass);
      const auto [known, is_new] = index.emplace(name, families.size());
      if (is_new) families.push_back({.name = name, .seconds = {}, .record = &record, .is_main = is_main});
      std::vector<double>& seconds = families[known->second].seconds;
      seconds.insert(seconds.end(), time.samples.begin(), time.samples.end());
    }
  }
  return families;
}

Json cache(const char* type, int level, const Json& bytes) {
  return {{"type", type}, {"level", level}, {"size", bytes}, {"num_sharing", 1}};
}

Json context_of(const Record& record) {
  const Json& machine = record.machine.json();
  const auto value = [&](const char* key, Json otherwise) {
    const auto found = machine.find(key);
    return found == machine.end() || found->is_null() ? std::move(otherwise) : *found;
  };
  const Json clock = value("clock_hz", 0);
  const Json load = value("load_average", Json::array());
  Json caches = Json::array();
  if (machine.contains("l1d_bytes")) caches.push_back(cache("Data", 1, value("l1d_bytes", 0)));
  if (machine.contains("l2_bytes")) caches.push_back(cache("Unified", 2, value("l2_bytes", 0)));
  if (machine.contains("l3_bytes")) caches.push_back(cache("Unified", 3, value("l3_bytes", 0)));
  const std::string governor = record.machine.text("governor");
  return {{"date", record.created},
          {"host_name", ""},  // a record names no host
          {"executable", "laptime"},
          {"num_cpus", value("cores_allowed", value("cores_online", 0))},
          {"mhz_per_cpu", clock.is_number() ? static_cast<int64_t>(clock.get<double>() / 1e6) : 0},
          {"cpu_scaling_enabled", !governor.empty() && governor != "performance"},
          {"caches", caches},
          {"load_avg", load},
          {"library_version", record.binary.version},
          {"library_build_type", record.binary.build_type == "Debug" ? "debug" : "release"},
          {"json_schema_version", 1},
          {"laptime_fingerprint", record.fingerprint},
          {"laptime_math_mode", record.math_mode},
          {"laptime_commit", record.binary.commit},
          {"cpu_model", record.machine.text("cpu_model")}};
}

void add_rows(Json& rows, const Family& family, size_t family_index) {
  for (size_t i = 0; i < family.seconds.size(); ++i) {
    const double microseconds = family.seconds[i] * 1e6;
    Json row{{"name", family.name},
             {"family_index", family_index},
             {"per_family_instance_index", 0},
             {"run_name", family.name},
             {"run_type", "iteration"},
             {"repetitions", family.seconds.size()},
             {"repetition_index", i},
             {"threads", 1},
             {"iterations", 1},
             {"real_time", microseconds},
             {"cpu_time", microseconds},  // compare.py needs one; a step uses all of its threads throughout
             {"time_unit", "us"}};
    for (const char* const tag : {"peak_memory", "mfu_measured"}) {
      const std::optional<double> figure = find_metric(tag)->read(*family.record);
      if (family.is_main && figure) row[tag] = *figure;
    }
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::string google_benchmark(std::span<const TracedRecord> records, const ExportOptions& /*options*/) {
  const std::vector<Family> families = families_of(records);
  Json rows = Json::array();
  for (size_t i = 0; i < families.size(); ++i) {
    const std::string& first = families.front().record->fingerprint;
    if (families[i].record->fingerprint != first) {
      throw Error::format(
          "the records are of several machines, and a file of Google Benchmark has one; narrow them down with "
          "\"fingerprint = '{}'\"",
          first);
    }
    add_rows(rows, families[i], i);
  }
  const Json document{{"context", context_of(families.empty() ? Record() : *families.front().record)},
                      {"benchmarks", std::move(rows)}};
  return document.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace laptime
