// plan_answer: whether points fit, how long they take and what would fit, for `laptime plan`.
#pragma once

#include <array>
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
  using enum PlanView;
  return std::to_array<Choice<PlanView>>({{kSummary, "summary"},
                                          {kKernels, "kernels"},
                                          {kOps, "ops"},
                                          {kClasses, "classes"},
                                          {kLayers, "layers"},
                                          {kAttention, "attention"},
                                          {kMemory, "memory"},
                                          {kAll, "all"}});
}

struct PlanQuery {
  PlanView view = PlanView::kSummary;
  TrainingBudget budget{.tokens = 1e9};  // of the training whose time is told
  bool draws_curve = false;              // bytes against time of the points
  bool compares_training = false;        // of several points, one below the other
  bool grid = false;                     // peaks alone
  bool verbose = false;
};

// One point: in a few lines, with the tables of the view.
PointAnswer plan_answer(const PlannedPoint& point, const std::optional<StepTrace>& trace, const PlanQuery& query);

// Several points: a line on what fits, and a row for each or, with `grid`, their peaks by pass and number type.
PointAnswer plan_answer(const std::vector<PlannedPoint>& points, const PlanQuery& query);

// "measured launches, 98 % of the same shapes": what a prediction was made from.
std::string basis_words(const Prediction& prediction);

// "! 12 % of the predicted time is from launches measured on a disturbed machine"; empty where hardly any is.
std::string disturbed_prediction_line(const Prediction& prediction);

// Predicted beside measured, for `bench --explain`: a table by class, phase and pass. None without both.
std::optional<Table> prediction_table(const Record& record);
// "predicted 3.00 s, measured 5.00 s: -40 %; most of it backward matmul -30 %"; empty without both.
std::string prediction_words(const Record& record);

// One row for each kind of launch and number of threads, those that take longest first: how many shapes were measured,
// and the rates that they reach.
Table launch_costs_table(std::span<const LaunchCost> costs);

}  // namespace laptime
