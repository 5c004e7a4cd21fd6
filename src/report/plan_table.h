// PlanTable: what each point of a sweep would take and hold, in one table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/record.h"
#include "report/grid.h"

namespace laptime {

// Answers about one planned point.
struct PlannedPoint {
  Record record;  // with `prediction`, and the reason if it does not fit
  // The value of --recompute that fits with the least recomputation, where the point as given does not; else empty.
  std::string fitting_recompute{};
  std::optional<int64_t> largest_batch{};    // that fits; 0: none
  std::optional<int64_t> largest_context{};  // that fits; 0: none
  // The same without recomputation, where the point recomputes as much as it needs.
  std::optional<int64_t> largest_batch_kept{}, largest_context_kept{};
  std::optional<int64_t> eager_bytes{};  // peak of the same point one primitive op at a time, as a framework runs it
  std::optional<Record> compiled{};      // the same point with --mode compile, where that fits or is faster
};

// One row for each point. A column that is empty in every row is left out.
Grid plan_grid(const std::vector<PlannedPoint>& points);

// The peaks by pass and number type, those that do not fit marked. None where all points have the same.
std::optional<Grid> fitting_grid(const std::vector<PlannedPoint>& points);

// The answer in a sentence: "it fits: 2.975 GiB at the peak; step predicted to take 50.90 ms; largest batch that fits:
// 16, without recomputation 4" of one point, "3 of 4 points fit; not: large ctx:1024 (2.100 GiB too many)" of several.
std::string plan_answer(const std::vector<PlannedPoint>& points);

// "measured launches, 98 % of the same shapes, 58 % on a disturbed machine": what a prediction was made from.
std::string basis_text(const Prediction& prediction);

// How much of a prediction comes from launches that were measured on a disturbed machine, what disturbed it, and what
// to do; empty where hardly any does.
std::string disturbed_sentence(const Prediction& prediction);

// "step: 1.23 s predicted, of which 98 % from measured launches (newest 2026-01-02)".
std::string prediction_sentence(const Record& record);

// Predicted beside measured: time by phase and class, and bytes. Empty without a prediction or a measured time.
std::optional<Grid> prediction_grid(const Record& record);

// What the error of the prediction comes from: the phases and classes that differ most. Empty as above.
std::string prediction_error_sentence(const Record& record);

// "predicted 3.000 s, measured 5.000 s: -40.0 % of the measured time"; both in seconds.
std::string predicted_against_measured(double predicted, double measured);

}  // namespace laptime
