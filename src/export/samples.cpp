// Samples as JSON for Google Benchmark and hyperfine, and records as a table like llama-bench's.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json_path.h"
#include "base/ranges.h"
#include "distribution/moments.h"
#include "export/formats.h"
#include "record/metrics.h"
#include "report/names.h"
#include "report/point_text.h"
#include "table/text.h"

namespace laptime {
namespace {

using RecordFacts = std::vector<std::pair<std::string, std::string>>;  // key and value

// Facts that distinguish measurements with the same name. Options that control how long to measure are not among them.
RecordFacts facts_of(const Record& record) {
  constexpr std::array kOfSampling{"warmup", "steps", "budget", "timeout"};
  RecordFacts facts{{"label", record.label},
                    {"build", record.binary.id.empty() ? record.binary.commit : record.binary.id}};
  for (const auto& [key, value] : record.config.json().items()) {
    if (!is_among(key, kOfSampling)) facts.emplace_back(key, record.config.text(key));
  }
  return facts;
}

std::string value_at(const RecordFacts& facts, const std::string& key) {
  const auto* const fact = find_in(facts, key, &RecordFacts::value_type::first);
  return fact == nullptr ? "" : fact->second;
}

// The label, build and options of each record, without those that are equal in all records.
std::vector<RecordFacts> differing_facts(const RecordPointers& records) {
  const auto all = mapped(records, [](const Record* record) { return facts_of(*record); });
  std::vector<std::string> keys;  // in order of first appearance
  for (const RecordFacts& facts : all) {
    for (const auto& [key, value] : facts) {
      if (!is_among(key, keys)) keys.push_back(key);
    }
  }
  std::erase_if(keys, [&](const std::string& key) {
    return std::ranges::all_of(
        all, [&](const RecordFacts& facts) { return value_at(facts, key) == value_at(all.front(), key); });
  });
  std::vector<RecordFacts> differing(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    for (const std::string& key : keys) differing[i].emplace_back(key, value_at(all[i], key));
  }
  return differing;
}

// "/predicted:h100"; empty for a measured record.
std::string prediction_tag(const Record& record) {
  return is_predicted(record) ? fmt::format("/predicted:{}", machine_of(record)) : "";
}

// For each record, a suffix that distinguishes it from others with the same entry in `names`.
std::vector<std::string> distinctions(const RecordPointers& records, const std::vector<std::string>& names) {
  std::map<std::string, std::vector<size_t>> by_name;
  for (size_t i = 0; i < records.size(); ++i) by_name[names[i]].push_back(i);
  std::vector<std::string> texts(records.size());
  for (const auto& [name, indices] : by_name) {
    RecordPointers of_name;
    for (const size_t index : indices) of_name.push_back(records[index]);
    const std::vector<RecordFacts> differing = differing_facts(of_name);
    for (size_t i = 0; i < indices.size(); ++i) {
      for (const auto& [key, value] : differing[i])
        texts[indices[i]] += fmt::format("/{}:{}", key, value.empty() ? "none" : value);
    }
  }
  return texts;
}

RecordPointers timed_records(std::span<const TracedRecord> records) {
  RecordPointers timed;
  for (const TracedRecord& traced : records) {
    if (has_time(traced.record)) timed.push_back(&traced.record);
  }
  return timed;
}

// The times of the samples. A prediction, which has no spread, is one time.
std::vector<double> samples_of(const Record& record, const TimeStats& time) {
  return is_predicted(record) ? std::vector{time.median} : time.samples;
}

std::string json_text(const Json& json) { return json.dump(2) + "\n"; }

// ---- Google Benchmark

// Times of one benchmark. Records that distinctions() does not tell apart are its repetitions.
struct Family {
  std::string name;
  std::vector<std::pair<double, const Record*>> samples;  // seconds, and the record of the sample
  bool is_main = false;                                   // the requested pass, not a phase of it
};

std::vector<Family> families_of(const RecordPointers& records) {
  const std::vector<std::string> distinct = distinctions(records);
  std::vector<Family> families;
  std::map<std::string, size_t> index;
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& record = *records[i];
    for (const auto& [pass, time] : record.time) {
      const bool is_main = &time == record.main_time();
      const std::string name = record.name + distinct[i] + (is_main ? "" : "/phase:" + pass);
      const auto [known, is_new] = index.emplace(name, families.size());
      if (is_new) families.push_back({.name = name, .samples = {}, .is_main = is_main});
      for (const double seconds : samples_of(record, time))
        families[known->second].samples.emplace_back(seconds, &record);
    }
  }
  return families;
}

// A filter for the records with times of this record's machine, for use between double quotes in a shell. The
// fingerprint of a prediction is that of the machine that computed it, not of the predicted machine.
std::string filter_of_machine(const Record& record) {
  const std::string name = is_predicted(record) ? record.config.text("device") : record.fingerprint;
  const char* const mark = name.find('\'') == std::string::npos ? "'" : "\\\"";
  return fmt::format("{} = {}{}{}", is_predicted(record) ? "device" : "predicted = false and fingerprint", mark, name,
                     mark);
}

void require_one_machine(const RecordPointers& records) {
  if (records.empty()) return;
  const std::string filter = filter_of_machine(*records.front());
  if (std::ranges::all_of(records, [&](const Record* record) { return filter_of_machine(*record) == filter; })) return;
  throw Error::format(
      "the records come from several machines, but a Google Benchmark file describes one; select one machine with the "
      "filter \"{}\"",
      filter);
}

// Leaves the machine of a prediction empty, because the record describes the machine that computed the prediction.
Json context_of(const Record& record) {
  const JsonObject described = is_predicted(record) ? JsonObject() : record.machine;
  const Json& machine = described.json();
  const auto value = [&](const char* key, const Json& otherwise) {
    const auto found = machine.find(key);
    return found == nullptr || found->is_null() ? otherwise : *found;
  };
  Json caches = Json::array();
  for (const auto& [key, level, type] : {std::tuple("l1d_bytes", 1, "Data"), std::tuple("l2_bytes", 2, "Unified"),
                                         std::tuple("l3_bytes", 3, "Unified")}) {
    if (machine.contains(key))
      caches.push_back({{"type", type}, {"level", level}, {"size", value(key, 0)}, {"num_sharing", 1}});
  }
  const std::string governor = described.text("governor");
  Json context{{"date", record.created},
               {"host_name", ""},  // records do not name the host
               {"executable", "laptime"},
               {"num_cpus", value("cores_allowed", value("cores_online", 0))},
               {"mhz_per_cpu", static_cast<int64_t>(number_at(described, "clock_hz").value_or(0) / 1e6)},
               {"cpu_scaling_enabled", !governor.empty() && governor != "performance"},
               {"caches", caches},
               {"load_avg", value("load_average", Json::array())},
               {"library_version", record.binary.version},
               {"library_build_type", record.binary.build_type == "Debug" ? "debug" : "release"},
               {"json_schema_version", 1},
               {"laptime_math_mode", record.math_mode},
               {"laptime_commit", record.binary.commit},
               {"cpu_model", described.text("cpu_model")}};
  if (is_predicted(record)) {
    context["laptime_predicted_for"] = machine_of(record);
  } else {
    context["laptime_fingerprint"] = record.fingerprint;
  }
  return context;
}

void add_rows(Json& rows, const Family& family, size_t family_index) {
  for (size_t i = 0; i < family.samples.size(); ++i) {
    const auto& [seconds, record] = family.samples[i];
    const double microseconds = seconds * 1e6;
    const auto threads = record->config.json().find("threads");
    Json row{{"name", family.name},
             {"family_index", family_index},
             {"per_family_instance_index", 0},
             {"run_name", family.name},
             {"run_type", "iteration"},
             {"repetitions", family.samples.size()},
             {"repetition_index", i},
             {"threads", threads != nullptr && threads->is_number_integer() ? *threads : Json(1)},
             {"iterations", 1},
             {"real_time", microseconds},
             {"cpu_time", microseconds},  // required by compare.py; a step keeps all of its threads busy
             {"time_unit", "us"}};
    for (const char* const tag : {"peak_memory", "mfu_measured"}) {
      const std::optional<double> figure = find_metric(tag)->read(*record);
      if (family.is_main && figure) row[tag] = *figure;
    }
    rows.push_back(std::move(row));
  }
}

// ---- hyperfine

// CPU seconds of a step, from the process's usage during the samples; 0 if the record lacks it, and for a prediction,
// whose process did not run the step.
double cpu_seconds(const Record& record, const TimeStats& time, const char* key) {
  if (is_predicted(record)) return 0;
  const std::optional<double> seconds = number_at(record.machine, key);
  const auto steps = static_cast<double>(time.count * record.stopping.steps_per_sample.value_or(1));
  return seconds && steps > 0 ? *seconds / steps : 0;
}

Json result_of(const Record& record, const std::string& command, const RecordFacts& parameters) {
  const TimeStats& time = *record.main_time();
  const std::vector<double> samples = samples_of(record, time);
  Json result{{"command", command},
              {"mean", time.mean},
              {"stddev", time.std && !is_predicted(record) ? Json(*time.std) : Json(nullptr)},
              {"median", time.median},
              {"user", cpu_seconds(record, time, "during.user_seconds")},
              {"system", cpu_seconds(record, time, "during.system_seconds")},
              {"min", time.min},
              {"max", time.max},
              {"times", samples}};
  if (record.memory.peak_rss_bytes)
    result["memory_usage_byte"] = std::vector<int64_t>(samples.size(), *record.memory.peak_rss_bytes);
  result["exit_codes"] = std::vector<int>(samples.size(), 0);
  for (const auto& [key, value] : parameters) result["parameters"][key] = value;
  return result;
}

// ---- llama-bench

struct BenchColumn {
  const char* title;
  size_t width;
  bool right;
};

// Columns that llama-bench also prints have the widths of its table.
constexpr std::array kColumns{
    BenchColumn{"model", 30, false},  BenchColumn{"params", 10, true}, BenchColumn{"ctx", 6, true},
    BenchColumn{"bs", 4, true},       BenchColumn{"dtype", 8, true},   BenchColumn{"mode", 8, true},
    BenchColumn{"test", 15, true},    BenchColumn{"ms", 20, true},     BenchColumn{"tok/s", 20, true},
    BenchColumn{"peak GiB", 8, true}, BenchColumn{"MFU", 7, true}};
using BenchCells = std::array<std::string, kColumns.size()>;

std::string line_of(const BenchCells& cells) {
  std::string line = "|";
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto [title, width, right] = kColumns.at(i);
    line += fmt::format(" {} |", right ? pad_left(cells.at(i), width) : pad_right(cells.at(i), width));
  }
  return line + "\n";
}

std::string header() {
  BenchCells titles;
  std::string rule = "|";
  for (size_t i = 0; i < kColumns.size(); ++i) {
    titles.at(i) = kColumns.at(i).title;
    rule += fmt::format(" {}{} |", std::string(kColumns.at(i).width - 1, '-'), kColumns.at(i).right ? ":" : "-");
  }
  return line_of(titles) + rule + "\n";
}

// Parameters are float32, regardless of autocast.
std::string parameter_count(const Record& record) {
  const auto bytes = record.memory.parts.find("parameter");
  const bool is_counted = record.flops.parameters.value_or(0) > 0;
  if (!is_counted && bytes == record.memory.parts.end()) return "";
  // The bytes are those of one rank, which may hold a part of the parameters.
  const double count =
      is_counted ? static_cast<double>(*record.flops.parameters) : static_cast<double>(bytes->second) / sizeof(float);
  return count >= 1e9 ? fmt::format("{:.2f} B", count / 1e9) : fmt::format("{:.2f} M", count / 1e6);
}

std::string test_of(std::string_view pass) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTests{
      {{"forward", "fwd"}, {"backward", "bwd"}, {"optimizer", "opt"}, {"forward_backward", "fwd+bwd"}}};
  const auto* const test = find_in(kTests, pass, &decltype(kTests)::value_type::first);
  return test == nullptr ? markdown_escaped(pass) : std::string(test->second);
}

// "12.34 ± 0.56", or only the mean; empty if the mean is unknown.
std::string with_deviation(double mean, const std::optional<double>& deviation) {
  if (!std::isfinite(mean)) return "";
  return deviation ? fmt::format("{:.2f} ± {:.2f}", mean, *deviation) : fmt::format("{:.2f}", mean);
}

// Mean and standard deviation of the samples' rates in tokens per second, as in llama-bench.
std::string rate(const std::vector<double>& samples, double tokens) {
  std::vector<double> rates = mapped(samples, [&](double seconds) { return tokens / seconds; });
  std::ranges::sort(rates);
  const Moments moments = moments_of_sorted(rates);
  return with_deviation(moments.mean, moments.std_sample);
}

// The cells that describe the point. The rows of its passes share them.
BenchCells point_cells(const Record& record) {
  std::string model = model_text(record);
  for (const std::string& more : {record.config.text("edition"), system_of(record)})
    model += model.empty() || more.empty() ? more : " " + more;
  if (const std::string predicted = prediction_tag(record); !predicted.empty()) model += " " + predicted.substr(1);
  return {markdown_escaped(model),
          parameter_count(record),
          markdown_escaped(record.config.text("context_length")),
          markdown_escaped(record.config.text("batch_size")),
          markdown_escaped(record.config.text("dtype")),
          markdown_escaped(record.config.text("mode"))};
}

// The cells of each record's point. Where several points would have equal cells, the model's cell distinguishes them.
std::vector<BenchCells> distinct_points(const RecordPointers& records) {
  std::vector<BenchCells> points;
  std::vector<std::string> lines;
  for (const Record* const record : records) lines.push_back(line_of(points.emplace_back(point_cells(*record))));
  const std::vector<std::string> distinct = distinctions(records, lines);
  for (size_t i = 0; i < records.size(); ++i) {
    if (!distinct[i].empty()) points[i][0] += markdown_escaped(" " + distinct[i].substr(1));
  }
  return points;
}

std::string test_row(const Record& record, BenchCells cells, const std::string& pass, const TimeStats& time) {
  const bool is_main = &time == record.main_time();
  cells[6] = test_of(pass);
  const std::optional<double> deviation = is_predicted(record) ? std::nullopt : time.std;
  cells[7] = with_deviation(time.mean * 1e3, deviation ? std::optional(*deviation * 1e3) : std::nullopt);
  if (record.tokens_per_second && !time.samples.empty())
    cells[8] = rate(samples_of(record, time), *record.tokens_per_second * record.main_time()->median);
  if (is_main && record.memory.peak_bytes)
    cells[9] = fmt::format("{:.2f}", static_cast<double>(*record.memory.peak_bytes) / (int64_t{1} << 30U));
  if (is_main && record.flops.mfu_measured) cells[10] = fmt::format("{:.1f} %", *record.flops.mfu_measured * 100);
  return line_of(cells);
}

// Phases in execution order, followed by the requested pass.
std::vector<std::string> passes_of(const Record& record) {
  std::vector<std::string> passes = phases_of(record);
  for (const auto& [pass, time] : record.time) {
    if (!is_among(pass, passes)) passes.push_back(pass);
  }
  return passes;
}

}  // namespace

bool has_time(const Record& record) { return record.status == Status::kOk && record.main_time() != nullptr; }

std::vector<std::string> distinctions(const RecordPointers& records) {
  return distinctions(records, mapped(records, &Record::name));
}

std::string google_benchmark(std::span<const TracedRecord> records, const ExportOptions& /*options*/) {
  const RecordPointers timed = timed_records(records);
  require_one_machine(timed);
  const std::vector<Family> families = families_of(timed);
  Json rows = Json::array();
  for (size_t i = 0; i < families.size(); ++i) add_rows(rows, families[i], i);
  return json_text(
      {{"context", context_of(timed.empty() ? Record() : *timed.front())}, {"benchmarks", std::move(rows)}});
}

// States only the parameters that differ, because hyperfine's scripts plot over the one parameter that varies.
std::string hyperfine(std::span<const TracedRecord> records, const ExportOptions& /*options*/) {
  const RecordPointers timed = timed_records(records);
  const std::vector<std::string> commands =
      mapped(timed, [](const Record* record) { return record->name + prediction_tag(*record); });
  const std::vector<std::string> distinct = distinctions(timed, commands);
  const std::vector<RecordFacts> parameters = differing_facts(timed);
  Json results = Json::array();
  for (size_t i = 0; i < timed.size(); ++i)
    results.push_back(result_of(*timed[i], commands[i] + distinct[i], parameters[i]));
  return json_text({{"results", std::move(results)}});
}

std::string llama_bench(std::span<const TracedRecord> records, const ExportOptions& /*options*/) {
  const RecordPointers timed = timed_records(records);
  const std::vector<BenchCells> points = distinct_points(timed);
  std::string text = header();
  std::string builds;
  for (size_t i = 0; i < timed.size(); ++i) {
    const Record& record = *timed[i];
    for (const std::string& pass : passes_of(record)) text += test_row(record, points[i], pass, record.time.at(pass));
    const std::string build = fmt::format("build: {} ({})\n", markdown_escaped(record.binary.commit),
                                          markdown_escaped(record.binary.version));
    if (builds.find(build) == std::string::npos) builds += build;
  }
  return text + "\n" + builds;
}

}  // namespace laptime
