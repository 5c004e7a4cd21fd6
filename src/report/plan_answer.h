// plan_answer: for `laptime plan`, whether points fit, how long they take, and which settings would fit. Also describes
// predictions and the launch times behind them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/plan_findings.h"
#include "config/option.h"
#include "record/record.h"
#include "record/step_trace.h"
#include "record/store.h"
#include "report/answer.h"

namespace laptime {

enum class PlanView : uint8_t { kSummary, kKernels, kOps, kClasses, kLayers, kAttention, kMemory, kAll };

constexpr auto choices_of(PlanView) {
  return choices<PlanView>("summary", "kernels", "ops", "classes", "layers", "attention", "memory", "all");
}

struct PlanQuery {
  PlanView view = PlanView::kSummary;
  TrainingBudget budget{.tokens = 1e9};  // the training run whose duration is shown
  bool draws_curve = false;              // draw each point's memory as a bar, with its time
  bool compares_training = false;        // compare the training times of several points
  bool grid = false;                     // show only the peaks, by pass and number type
  bool verbose = false;
};

// One point: a short summary with the tables of the view.
PointAnswer plan_answer(const PlannedPoint& point, const std::optional<StepTrace>& trace, const PlanQuery& query);

// Several points: a line that says which fit, and a row for each or, with `grid`, their peaks by pass and number type.
PointAnswer plan_answer(const std::vector<PlannedPoint>& points, const PlanQuery& query);

// "measured launches, 98 % of the time from launches of the same shapes": what a prediction is based on.
std::string basis_words(const Prediction& prediction);

// "! 12 % of the predicted time is from launches timed on a busy machine; ..."; empty if the share is negligible.
std::string disturbed_prediction_line(const Prediction& prediction);

// Predicted and measured times for `bench --explain`: a table by class, phase and pass. None unless both are known.
std::optional<Table> prediction_table(const Record& record);
// "predicted 3.00 s, measured 5.00 s: -40 %; largest part: backward matmul -30 %"; empty unless both are known.
std::string prediction_words(const Record& record);

// One row per kind of launch and number of threads, longest first: how many shapes were measured, and the rates that
// they reach.
Table launch_costs_table(std::span<const LaunchCost> costs);

}  // namespace laptime
