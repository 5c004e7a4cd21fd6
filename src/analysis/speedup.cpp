// Finds baselines with an otherwise equal configuration, and divides times.
#include "analysis/speedup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/json.h"
#include "base/proc_text.h"

namespace laptime {
namespace {

// The options that determine how a step is computed, in the order in which a header lists them. An option follows those
// on which its default depends: loss_scale depends on dtype, threads on ranks.
constexpr std::array kMayDiffer{"dtype", "loss_scale",   "mode",      "float32_precision",     "reproducible",  "keep",
                                "lower", "kernels_file", "recompute", "memory_limit",          "micro_batches", "ranks",
                                "shard", "bucket",       "threads",   "optimizer_in_backward", "moments"};
constexpr std::string_view kThreads = "threads";

// The record's value of an option. The number of threads is empty if the device has none, or if a planned point leaves
// it to the device.
std::string value_in(const Record& record, std::string_view key) {
  const std::string value = record.config.text(std::string(key));
  return key == kThreads && value == "null" ? "" : value;
}
bool is_unknown(std::string_view key, const std::string& value) { return key == kThreads && value.empty(); }

// An option that determines the work of a step, and the value to assume if a record lacks it. Records of other programs
// and of older builds may lack options.
struct WorkOption {
  std::string_view key;
  std::string_view usual = "";
};
constexpr std::array kWorkOptions{WorkOption{"model"},          WorkOption{"edition"},
                                  WorkOption{"d_model"},        WorkOption{"d_ff"},
                                  WorkOption{"num_layers"},     WorkOption{"num_heads"},
                                  WorkOption{"vocab_size"},     WorkOption{"context_length"},
                                  WorkOption{"batch_size"},     WorkOption{"pass"},
                                  WorkOption{"crop_context"},   WorkOption{"weight_tie", "false"},
                                  WorkOption{"causal", "true"}, WorkOption{"projections", "false"},
                                  WorkOption{"bias", "false"}};
// These options determine the work too; work_of() uses them only if a record's key heads differ from the default.
constexpr std::array<std::string_view, 2> kKeyHeadOptions{"num_kv_heads", "head_dim"};

// A key that two records of one command (`run`) share if they differ at most in `options`.
std::string point_of_run(const Record& record, const std::string& run, std::vector<std::string_view> options) {
  if (record.stopping.rule != "fixed") options.insert(options.end(), {"warmup", "steps"});  // chosen by the rule
  return run + '\n' + point_without(record, options);
}

// True if the record's step lowers no composite.
bool is_whole(const Record& record) {
  return record.config.text("mode") != "eager" && chosen_composites(record).empty();
}

// The preferred value of an option in a baseline, used if the run contains this value; empty if there is none.
std::string_view usual_value(std::string_view key) {
  if (key == "dtype") return "float32";
  return key == "mode" ? "eager" : "";
}

// The option value used as the baseline: none or false, else the smallest number, else the first by name.
std::string plainest(const std::set<std::string>& values) {
  for (const char* const none : {"", "null", "none", "false"}) {
    if (values.contains(none)) return none;
  }
  const auto as_number = [](const std::string& text) {
    return parse_double(text).value_or(std::numeric_limits<double>::infinity());
  };
  return *std::ranges::min_element(values, {}, as_number);
}

using Values = std::vector<std::string>;  // of kMayDiffer

// The values that the points have for the i-th option, as far as they are known.
std::set<std::string> known_values(const std::vector<const Values*>& points, size_t i) {
  std::set<std::string> known;
  for (const Values* const values : points) {
    const std::string& value = values->at(i);
    if (!is_unknown(kMayDiffer.at(i), value) && !known.contains(value)) known.insert(value);
  }
  return known;
}

// Whether points that agree in the options `before` also agree in the i-th option.
bool is_implied(const std::vector<const Values*>& points, const std::vector<size_t>& before, size_t i) {
  std::map<Values, std::string> implied;
  return std::ranges::all_of(points, [&](const Values* values) {
    Values given;
    for (const size_t option : before) given.push_back(values->at(option));
    return implied.emplace(std::move(given), values->at(i)).first->second == values->at(i);
  });
}

// The 97.5th percentile of Student's t distribution.
double student_t(int64_t degrees) {
  constexpr std::array kTable{12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26};
  if (degrees < 1) return kTable.front();
  const auto index = static_cast<size_t>(degrees - 1);
  return index < kTable.size() ? kTable.at(index) : 2.0 + 2.4 / static_cast<double>(degrees);
}

// The baseline's time divided by `time`; none if either is null. Exact times get an interval of zero width.
std::optional<Speedup> ratio_of(const TimeStats* baseline, const TimeStats* time, bool are_exact) {
  if (baseline == nullptr || time == nullptr) return std::nullopt;
  std::optional<Speedup> speedup = speedup_of(*baseline, *time);
  if (speedup && are_exact) speedup->interval = {speedup->value, speedup->value};
  return speedup;
}

}  // namespace

std::string chosen_composites(const Record& record) {
  const std::string lowered = record.config.text("lower");
  if (!lowered.empty() && lowered != "none") return "-" + lowered;
  const std::string kept = record.config.text("keep");
  return kept.empty() || kept == "all" ? "" : "keep " + kept;
}

std::string point_without(const Record& record, const std::vector<std::string_view>& options) {
  Json config = record.config.json();
  for (const std::string_view option : options) config.erase(option);
  config.erase("timeout");
  std::ranges::sort(config.items(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return record.fingerprint + '\n' + config.dump();
}

std::string work_of(const Record& record) {
  std::string work;
  for (const auto& [key, usual] : kWorkOptions) {
    const std::string value = record.config.text(key);
    work += fmt::format("\n{}", value.empty() ? usual : value);
  }
  if (!has_default_key_heads(record))
    work += fmt::format("\n{} of {}", record.config.text("num_kv_heads"), record.config.text("head_dim"));
  return work;
}

bool is_work_option(std::string_view key) {
  return std::ranges::find(kWorkOptions, key, &WorkOption::key) != kWorkOptions.end() ||
         std::ranges::find(kKeyHeadOptions, key) != kKeyHeadOptions.end();
}

std::optional<double> uncertainty_of(const TimeStats& time) {
  const auto is_time = [](double seconds) { return std::isfinite(seconds) && seconds > 0; };
  if (!is_time(time.median)) return std::nullopt;
  if (const std::optional<double> within = known_within(time); within && std::isfinite(*within)) return within;
  if (time.count < 2 || !time.std || !std::isfinite(*time.std) || !is_time(time.mean)) return std::nullopt;
  return student_t(time.count - 1) * *time.std / std::sqrt(static_cast<double>(time.count)) / time.mean;
}

std::optional<double> uncertainty_of(const Record& record, std::string_view phase) {
  const TimeStats* const time = time_of(record, phase);
  return time == nullptr || is_predicted(record) ? std::nullopt : uncertainty_of(*time);
}

std::optional<Speedup> speedup_of(const TimeStats& baseline, const TimeStats& time) {
  const double ratio = baseline.median / time.median;
  if (!std::isfinite(ratio) || ratio <= 0 || time.median <= 0) return std::nullopt;
  if (baseline == time) return Speedup{ratio, {ratio, ratio}};
  if (const auto interval = bootstrap_ratio_interval(baseline.samples, time.samples)) return Speedup{ratio, *interval};
  const double factor = 1 + std::hypot(uncertainty_of(baseline).value_or(1), uncertainty_of(time).value_or(1));
  return Speedup{ratio, {ratio / factor, ratio * factor}};
}

std::optional<Speedup> speedup_of(const Record& baseline, const Record& record) {
  return ratio_of(time_of(baseline), time_of(record), is_predicted(baseline) && is_predicted(record));
}

void Speedups::plan(const Record& record, std::string_view run) {
  if (record.run.empty()) points_.push_back(record);
  Values values;
  for (const char* const key : kMayDiffer) values.push_back(value_in(record, key));
  Run& of_run = runs_[std::string(run)];
  if (of_run.points.insert(std::move(values)).second) of_run.baseline = baseline_of(of_run.points);
}

bool Speedups::are_late() const {
  std::set<std::string> known;
  std::set<std::string> compared;
  const auto is_late = [&](const std::string& point, bool is_baseline) {
    if (!is_baseline) compared.insert(point);
    return is_baseline && known.insert(point).second && compared.contains(point);
  };
  return std::ranges::any_of(points_, [&](const Record& record) {
    return is_late(point_of(record), is_baseline(record)) || is_late(whole_point_of(record), is_whole(record));
  });
}

std::string Speedups::run_of(const Record& record) const { return runs_.contains(record.run) ? record.run : ""; }

std::vector<Speedups::Setting> Speedups::settings_of(const Record& record) const {
  const Run* const run = at_key(runs_, run_of(record));
  return run == nullptr ? std::vector<Setting>() : run->baseline;
}

std::vector<Speedups::Setting> Speedups::baseline_of(const std::set<std::vector<std::string>>& points) {
  std::vector<Setting> settings;
  const std::vector<const Values*> all = mapped(points, [](const Values& values) { return &values; });
  std::vector<const Values*> left = all;  // the points that may still be the baseline
  std::vector<size_t> varied;
  for (size_t i = 0; i < kMayDiffer.size(); ++i) {
    if (known_values(all, i).size() < 2) continue;
    const std::set<std::string> known = known_values(left, i);
    const std::string_view key = kMayDiffer.at(i);
    const std::string usual(usual_value(key));
    std::string value;
    if (!known.empty()) value = known.contains(usual) && !usual.empty() ? usual : plainest(known);
    std::erase_if(left, [&](const Values* values) { return values->at(i) != value; });
    settings.push_back({key, std::move(value), is_implied(all, varied, i)});
    varied.push_back(i);
  }
  const auto threads = static_cast<size_t>(std::ranges::find(kMayDiffer, kThreads) - kMayDiffer.begin());
  if (!settings.empty() && known_values(all, threads).empty()) settings.push_back({kThreads, "", true});
  return settings;
}

std::vector<std::string> Speedups::descriptions() const {
  std::vector<std::string> descriptions;
  for (const auto& [name, run] : runs_) {
    std::string text;
    for (const Setting& setting : run.baseline) {
      if (setting.is_implied) continue;
      const std::string shown = setting.value.empty() || setting.value == "null" ? "none" : setting.value;
      text += (text.empty() ? "" : " ") +
              (usual_value(setting.key).empty() ? fmt::format("{} {}", setting.key, shown) : shown);
    }
    if (!text.empty() && !is_among(text, descriptions)) descriptions.push_back(std::move(text));
  }
  return descriptions;
}

std::string Speedups::point_of(const Record& record) const {
  const std::vector<std::string_view> keys = mapped(settings_of(record), &Setting::key);
  return keys.empty() ? "" : point_of_run(record, run_of(record), keys);
}

// The key of the step with which gain() compares the record: the same step with no composite lowered. The prefix
// "whole" separates it from the keys of baselines.
std::string Speedups::whole_point_of(const Record& record) const {
  return "whole\n" + point_of_run(record, run_of(record), {"keep", "lower"});
}

bool Speedups::is_baseline(const Record& record) const {
  const std::vector<Setting> settings = settings_of(record);
  return !settings.empty() && std::ranges::all_of(settings, [&](const Setting& setting) {
    return is_unknown(setting.key, setting.value) || value_in(record, setting.key) == setting.value;
  });
}

void Speedups::add(const Record& record) {
  if (record.run.empty() || record.status != Status::kOk) return;
  const Baseline baseline{is_predicted(record), record.time};
  if (is_baseline(record)) baselines_[point_of(record)] = baseline;
  if (is_whole(record)) baselines_[whole_point_of(record)] = baseline;
}

std::optional<Speedup> Speedups::compared(const std::string& point, const Record& record,
                                          std::string_view phase) const {
  const Baseline* const baseline = at_key(baselines_, point);
  if (baseline == nullptr || record.status != Status::kOk) return std::nullopt;
  const auto& [is_exact, times] = *baseline;
  if (is_exact != is_predicted(record)) return std::nullopt;
  const std::string key = phase.empty() ? record.config.text("pass") : std::string(phase);
  return ratio_of(at_key(times, key), time_of(record, phase), is_exact);
}

std::optional<Speedup> Speedups::speedup(const Record& record, std::string_view phase) const {
  return compared(point_of(record), record, phase);
}

std::optional<Speedup> Speedups::gain(const Record& record, std::string_view phase) const {
  const std::optional<Speedup> speedup = compared(whole_point_of(record), record, phase);
  if (!speedup) return std::nullopt;
  return Speedup{1 / speedup->value, {1 / speedup->interval.high, 1 / speedup->interval.low}};
}

}  // namespace laptime
