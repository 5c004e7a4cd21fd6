// Findings about a planned point: whether it fits, how long it and a training take, and what would fit; and predictions
// beside times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/finding.h"
#include "config/training_options.h"
#include "record/record.h"

namespace laptime {

// The facts found about one planned point.
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
  // On a machine described by its data sheet: the launches of a step, seconds to start one, and the least context at
  // which the kernels take longer than their starts.
  std::optional<int64_t> launches{};
  double launch_s = 0;
  std::optional<int64_t> launch_bound_below{};
};

// fit             fits, peak_bytes, available_bytes, is_limit, whole_bytes, missing_bytes, recompute, fitting_recompute
// predicted_time  time_s, low_s, high_s, forward_s, backward_s, optimizer_s, tokens_per_second, basis, measured_share,
//                 disturbed_share, is_bound
// published_runs  times, median, low, high: how many times the bound published runs took
// published_figures  figures, median_error: what stands behind a prediction from rates that programs reach
// training_time   as training_time() below
// launch_bound    launches, launch_s, share, below_context
// largest         batch, context, batch_without_recompute, context_without_recompute
// compile_mode    time_s, peak_bytes, fits
// framework       peak_bytes
std::vector<Finding> plan_findings(const PlannedPoint& point, const TrainingBudget& budget);

// training_time   tokens, steps, time_s, low_s, high_s, price_per_hour, price, price_low, price_high, kwh, is_bound:
// what is not known is absent. Of a bound from a data sheet, low_s and high_s are those of published runs. From the
// measured median of a step and its 95 % interval or, in a record of a prediction, the predicted time. None for another
// pass than a step, and where the record has no time or, for epochs, no data.
std::optional<Finding> training_time(const Record& record, const TrainingBudget& budget);

// Tokens per second of a pass that takes so long; none where the record does not know its batch and context.
std::optional<double> tokens_per_second(const Record& record, double seconds);

// The predicted seconds of a pass or phase; none where nothing is predicted.
std::optional<double> predicted_seconds(const Record& record, const std::string& key);
std::string pass_name(const Record& record);

// One line of a prediction beside its measurement, in seconds.
struct PredictedPart {
  std::string part;  // "backward matmul", "forward", "step"
  double predicted = 0;
  double measured = 0;

  double error() const { return predicted / measured - 1; }
};
// Classes by phase, then phases, then the pass itself; empty without a prediction or a measured time.
std::vector<PredictedPart> predicted_parts(const Record& record);

}  // namespace laptime
