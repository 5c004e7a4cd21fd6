// Scales the time of a step to that of a training run.
#include <cmath>

#include "analysis/plan_findings.h"
#include "record/metrics.h"
#include "record/time_stats.h"

namespace laptime {
namespace {

struct StepTime {
  double seconds = 0;
  std::optional<double> low{}, high{};
};

std::optional<StepTime> time_of_step(const Record& record) {
  const auto measured = record.time.find("step");
  if (measured != record.time.end() && measured->second.median > 0) {
    StepTime step{.seconds = measured->second.median, .low = record.prediction.low, .high = record.prediction.high};
    if (is_predicted(record)) return step;
    if (const std::optional<double> within = known_within(measured->second)) {
      step.low = step.seconds * (1 - *within);
      step.high = step.seconds * (1 + *within);
    }
    return step;
  }
  const std::optional<double> predicted = predicted_seconds(record, "step");
  if (!predicted || *predicted <= 0) return std::nullopt;
  return StepTime{.seconds = *predicted, .low = record.prediction.low, .high = record.prediction.high};
}

// Energy used by the device, if it was measured.
std::optional<double> joules_per_step(const Record& record) {
  const Json* const sensors = record.machine.json().find("sensors");
  const Json* const joules = sensors == nullptr || !sensors->is_object() ? nullptr : sensors->find("joules_per_step");
  return joules == nullptr || !joules->is_number() ? std::nullopt : std::optional(joules->get<double>());
}

}  // namespace

std::optional<Finding> training_time(const Record& record, const TrainingBudget& budget) {
  if (pass_name(record) != "step") return std::nullopt;
  const std::optional<StepTime> step = time_of_step(record);
  if (!step) return std::nullopt;
  const std::optional<double> rate = tokens_per_second(record, step->seconds);
  std::optional<double> tokens = budget.tokens;
  if (budget.epochs && record.data.tokens) tokens = *budget.epochs * static_cast<double>(*record.data.tokens);
  if (!rate || !tokens) return std::nullopt;
  const double steps = std::ceil(*tokens / (*rate * step->seconds));
  Json values{{"tokens", *tokens}, {"steps", steps}, {"time_s", steps * step->seconds}};
  if (step->low && step->high) {
    values["low_s"] = steps * *step->low;
    values["high_s"] = steps * *step->high;
  }
  constexpr double kHour = 3600;
  constexpr double kJoulesOfKwh = 3.6e6;
  if (budget.price_per_hour) {
    const double of_second = *budget.price_per_hour / kHour;
    values["price_per_hour"] = *budget.price_per_hour;
    values["price"] = steps * step->seconds * of_second;
    if (step->low && step->high) {
      values["price_low"] = steps * *step->low * of_second;
      values["price_high"] = steps * *step->high * of_second;
    }
  }
  if (const std::optional<double> joules = joules_per_step(record)) values["kwh"] = steps * *joules / kJoulesOfKwh;
  const bool is_measured = record.time.contains("step");
  return Finding{.kind = "training_time",
                 .values = std::move(values),
                 .trust = is_measured ? FindingTrust::kMeasured : FindingTrust::kPredicted};
}

}  // namespace laptime
