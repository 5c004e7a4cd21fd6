// Reads predictions, compares them with measured and published times, and derives the time of a training run from the
// time of a step.
#include "analysis/plan_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/memory_findings.h"
#include "base/json_path.h"
#include "base/machine.h"
#include "base/ranges.h"
#include "config/machine.h"

namespace laptime {
namespace {

constexpr std::array kRatios{PublishedRatio{"bfloat16 autocast", "compile", 10, 2.39, 1.87, 2.84},
                             PublishedRatio{"bfloat16 autocast", "eager", 47, 1.21, 0.77, 1.98},
                             PublishedRatio{"float32", "compile", 22, 1.83, 1.47, 4.30},
                             PublishedRatio{"float32", "eager", 84, 1.12, 0.41, 1.73},
                             PublishedRatio{"tf32", "compile", 45, 2.53, 1.27, 7.70},
                             PublishedRatio{"tf32", "eager", 110, 1.21, 0.79, 3.97}};

Finding fit_finding(const PlannedPoint& point) {
  const Record& record = point.record;
  Json values{{"fits", record.status == Status::kOk}, {"peak_bytes", or_null(record.memory.predicted_peak_bytes)}};
  add_usable(usable_memory(record), values);
  if (record.status == Status::kOutOfMemory && record.bytes_requested && record.bytes_available)
    values["missing_bytes"] = *record.bytes_requested - *record.bytes_available;
  if (const std::string recompute = unasked_recompute(record); !recompute.empty()) values["recompute"] = recompute;
  if (!point.fitting_recompute.empty()) values["fitting_recompute"] = point.fitting_recompute;
  return {.kind = "fit", .values = std::move(values)};
}

std::optional<double> tokens_of_step(const Record& record) {
  const auto batch = number_at(record.config, "batch_size");
  const auto context = step_context(record);
  return batch && context ? std::optional(*batch * *context) : std::nullopt;
}

struct StepTime {
  double seconds = 0;
  std::optional<double> low{}, high{};
};

// The time of the record's steps; none if the record has no times, as after a failure.
std::optional<StepTime> time_of_step(const Record& record) {
  const TimeStats* const time = at_key(record.time, "step");
  if (time == nullptr) return std::nullopt;
  StepTime step{.seconds = time->median};
  if (is_predicted(record)) {
    step.low = record.prediction.low;
    step.high = record.prediction.high;
  } else if (const std::optional<double> within = known_within(*time)) {
    step.low = step.seconds * (1 - *within);
    step.high = step.seconds * (1 + *within);
  }
  return step;
}

double measured_seconds(const Record& record) {
  const TimeStats* const time = at_key(record.time, "step");
  return time == nullptr ? 0 : time->total * static_cast<double>(record.stopping.steps_per_sample.value_or(1));
}

// The finding training_time for a step that takes `step`.
std::optional<Finding> training_of(const Record& record, const TrainingBudget& budget,
                                   const std::optional<StepTime>& step) {
  if (pass_name(record) != "step" || !step || !(step->seconds > 0)) return std::nullopt;
  const std::optional<double> tokens_each = tokens_of_step(record);
  std::optional<double> tokens = budget.tokens;
  if (budget.epochs && record.data.tokens) tokens = *budget.epochs * static_cast<double>(*record.data.tokens);
  if (!tokens_each || !tokens) return std::nullopt;
  const double steps = training_steps(*tokens, *tokens_each);
  Json values{{"tokens", *tokens}, {"steps", steps}, {"time_s", steps * step->seconds}};
  if (step->low && step->high) {
    values["low_s"] = steps * *step->low;
    values["high_s"] = steps * *step->high;
  }
  constexpr double kHour = 3600;
  constexpr double kJoulesOfKwh = 3.6e6;
  if (budget.price_per_hour) {
    values["price_per_hour"] = *budget.price_per_hour;
    for (const auto& [price, time] : {std::pair("price", "time_s"), {"price_low", "low_s"}, {"price_high", "high_s"}}) {
      if (values.contains(time)) values[price] = values[time].get<double>() * (*budget.price_per_hour / kHour);
    }
  }
  // The energy of all devices, derived from the sensor of one device. Older records state energy even for runs that are
  // too short to measure it.
  const auto joules = number_at(record.machine, "sensors.joules_per_step");
  if (joules && measured_seconds(record) >= kShortestEnergySeconds)
    values["kwh"] = steps * *joules * number_at(record.config, "ranks").value_or(1) / kJoulesOfKwh;
  return Finding{.kind = "training_time",
                 .values = std::move(values),
                 .trust = is_predicted(record) ? FindingTrust::kPredicted : FindingTrust::kMeasured};
}

// Whether a prediction is a lower bound because it assumes data-sheet rates, which programs do not reach.
bool is_bound(const Prediction& prediction) { return prediction.from == "data sheet"; }

Finding time_finding(const Record& record, double seconds, bool is_bound) {
  const Prediction& prediction = record.prediction;
  Json values{{"time_s", seconds}};
  if (prediction.low) values["low_s"] = *prediction.low;
  if (prediction.high) values["high_s"] = *prediction.high;
  for (const char* phase : {"forward", "backward", "optimizer"}) {
    if (const auto part = predicted_seconds(record, phase); part && pass_name(record) != phase)
      values[fmt::format("{}_s", phase)] = *part;
  }
  values["tokens_per_second"] = or_null(tokens_per_second(record, seconds));
  values["basis"] = prediction.from;
  values["newest"] = prediction.newest;
  values["measured_share"] = or_null(prediction.measured_share);
  if (prediction.disturbed_share) {
    values["disturbed_share"] = *prediction.disturbed_share;
    values["disturbance"] = prediction.disturbance;
  }
  values["is_bound"] = is_bound;
  return {.kind = "predicted_time", .subject = pass_name(record), .values = std::move(values)};
}

void add_published(const Record& record, std::vector<Finding>& findings) {
  if (!is_bound(record.prediction)) {
    const Prediction& prediction = record.prediction;
    if (prediction.earlier && prediction.median_error)
      add(findings, "measured_times", "", {{"times", *prediction.earlier}, {"median_error", *prediction.median_error}});
    return;
  }
  const auto ratio = published_ratio(record.config.text("dtype"), record.config.text("mode"));
  if (!ratio) return;
  add(findings, "published_runs", "",
      {{"times", ratio->times}, {"median", ratio->median}, {"low", ratio->low}, {"high", ratio->high}});
}

// Adds the training time. The interval of a data-sheet bound comes from published runs.
void add_training(const Record& record, const TrainingBudget& budget, bool is_bound, std::vector<Finding>& findings) {
  const StepTime step{predicted_seconds(record, "step").value_or(0), record.prediction.low, record.prediction.high};
  std::optional<Finding> training = training_of(record, budget, step);
  if (!training) return;
  training->values.json()["is_bound"] = is_bound;
  if (const Finding* const published = find(findings, "published_runs")) {
    const auto between = [&](const char* key, const char* low, const char* high) {
      if (!training->has(key)) return;
      const double whole = training->number(key);
      training->values.json()[low] = whole * std::max(1.0, published->number("low"));
      training->values.json()[high] = whole * published->number("high");
    };
    between("time_s", "low_s", "high_s");
    between("price", "price_low", "price_high");
  }
  findings.push_back(std::move(*training));
}

}  // namespace

std::string unasked_recompute(const Record& record) {
  const std::string& recompute = record.memory.recompute;
  return recompute == "none" || recompute == record.config.text("recompute") ? "" : recompute;
}

std::string pass_name(const Record& record) {
  const std::string pass = record.config.text("pass");
  return pass.empty() ? "step" : pass;
}

std::optional<double> predicted_seconds(const Record& record, const std::string& key) {
  const double* const seconds = at_key(record.prediction.time, key);
  return seconds == nullptr ? std::nullopt : std::optional(*seconds);
}

std::optional<double> step_context(const Record& record) {
  const auto cropped = number_at(record.config, "crop_context");
  return cropped ? cropped : number_at(record.config, "context_length");
}

std::optional<double> tokens_per_second(const Record& record, double seconds) {
  const std::optional<double> tokens = seconds > 0 ? tokens_of_step(record) : std::nullopt;
  return tokens ? std::optional(*tokens / seconds) : std::nullopt;
}

double training_steps(double tokens, double tokens_of_step) { return std::ceil(tokens / tokens_of_step); }

std::optional<Finding> training_time(const Record& record, const TrainingBudget& budget) {
  return training_of(record, budget, time_of_step(record));
}

std::vector<Finding> plan_findings(const PlannedPoint& point, const TrainingBudget& budget) {
  const Record& record = point.record;
  std::vector<Finding> findings{fit_finding(point)};
  const std::optional<double> seconds = predicted_seconds(record, pass_name(record));
  if (seconds) {
    findings.push_back(time_finding(record, *seconds, is_bound(record.prediction)));
    if (record.config.text("device").starts_with(kMachinePrefix)) add_published(record, findings);
    add_training(record, budget, is_bound(record.prediction), findings);
  }
  if (point.launches && seconds && *seconds > 0) {
    add(findings, "launch_bound", pass_name(record),
        {{"launches", *point.launches},
         {"launch_s", point.launch_s},
         {"share", static_cast<double>(*point.launches) * point.launch_s / *seconds},
         {"below_context", or_null(point.launch_bound_below)}});
  }
  if (point.largest_batch || point.largest_context) {
    Json values{{"batch", or_null(point.largest_batch)}, {"context", or_null(point.largest_context)}};
    if (point.largest_batch_kept) values["batch_without_recompute"] = *point.largest_batch_kept;
    if (point.largest_context_kept) values["context_without_recompute"] = *point.largest_context_kept;
    add(findings, "largest", "", std::move(values));
  }
  if (point.compiled) {
    add(findings, "compile_mode", "",
        {{"time_s", or_null(predicted_seconds(*point.compiled, pass_name(record)))},
         {"peak_bytes", or_null(point.compiled->memory.predicted_peak_bytes)},
         {"only_it_fits", record.status != Status::kOk}});
  }
  for (Finding& finding : findings) finding.trust = FindingTrust::kPredicted;
  return findings;
}

std::span<const PublishedRatio> published_ratios() { return kRatios; }

std::optional<PublishedRatio> published_ratio(std::string_view dtype, std::string_view mode) {
  const std::string_view arithmetic = dtype == "float32" || dtype == "tf32" ? dtype : "bfloat16 autocast";
  const auto* const found = std::ranges::find_if(
      kRatios, [&](const PublishedRatio& one) { return one.arithmetic == arithmetic && one.mode == mode; });
  return found == kRatios.end() ? std::nullopt : std::optional(*found);
}

std::vector<PredictedPart> predicted_parts(const Record& record) {
  std::vector<PredictedPart> times;
  for (const auto& [key, seconds] : record.prediction.time) {
    if (const TimeStats* const time = at_key(record.time, key); time != nullptr && time->median > 0)
      times.push_back({key, seconds, time->median});
  }
  if (times.empty()) return {};
  std::vector<PredictedPart> parts;
  for (const ClassShare& measured : record.classes) {
    const auto found = std::ranges::find_if(record.prediction.classes, [&](const ClassShare& share) {
      return share.phase == measured.phase && share.work_class == measured.work_class;
    });
    if (found != record.prediction.classes.end() && measured.seconds > 0)
      parts.push_back({fmt::format("{} {}", measured.phase, measured.work_class), found->seconds, measured.seconds});
  }
  std::stable_partition(times.begin(), times.end(),
                        [&](const PredictedPart& part) { return part.part != pass_name(record); });
  parts.insert(parts.end(), times.begin(), times.end());
  return parts;
}

}  // namespace laptime
