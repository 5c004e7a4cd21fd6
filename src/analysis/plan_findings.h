// Findings about a planned point: whether it fits, how long a step and a training run take, and what would fit; also
// predictions compared with measured or published times.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/finding.h"
#include "config/training_options.h"
#include "record/record.h"

namespace laptime {

// The facts about one planned point, from which plan_findings() derives findings.
struct PlannedPoint {
  Record record;  // has `prediction`, and the reason if the point does not fit
  // If the point does not fit with the given options: the --recompute value that fits with the least recomputation, or
  // "nothing fits". Otherwise empty.
  std::string fitting_recompute{};
  std::optional<int64_t> largest_batch{};    // largest batch that fits; 0: none fits
  std::optional<int64_t> largest_context{};  // largest context that fits; 0: none fits
  // The largest batch and context without recomputation; only for a point with --recompute auto.
  std::optional<int64_t> largest_batch_kept{}, largest_context_kept{};
  std::optional<Record> compiled{};  // the same point with --mode compile, if only compile mode fits or if it is faster
  // For a machine described by its data sheet: the number of launches in a step, the seconds to start one launch, and
  // the smallest context at which running the kernels takes longer than starting them.
  std::optional<int64_t> launches{};
  double launch_s = 0;
  std::optional<int64_t> launch_bound_below{};
};

// Returns findings of these kinds with these values, as far as they are known:
// fit             fits, peak_bytes, available_bytes, is_limit, whole_bytes, missing_bytes, recompute, fitting_recompute
// predicted_time  time_s, low_s, high_s, forward_s, backward_s, optimizer_s, tokens_per_second, basis, newest,
//                 measured_share, disturbed_share, disturbance, is_bound
// published_runs  times, median, low, high: published times divided by the bound
// measured_times  times, median_error: the times against which predictions by "reached rates" were checked
// training_time   as training_time() below, with is_bound; a bound's intervals come from published runs
// launch_bound    launches, launch_s, share, below_context
// largest         batch, context, batch_without_recompute, context_without_recompute
// compile_mode    time_s, peak_bytes, only_it_fits
std::vector<Finding> plan_findings(const PlannedPoint& point, const TrainingBudget& budget);

// Returns the finding training_time with these values, as far as they are known: tokens, steps, time_s, low_s, high_s,
// price_per_hour, price, price_low, price_high, kwh. Based on the median of the record's steps and its 95 % interval
// or, if a device model predicted the times, on the range of the prediction. None for a pass other than a step, if the
// number of tokens is unknown (a budget in epochs needs the record's data), or if the record lacks times, its batch or
// its context. A planned point has no times: plan_findings() uses its prediction.
std::optional<Finding> training_time(const Record& record, const TrainingBudget& budget);

// The number of whole steps that read `tokens`.
double training_steps(double tokens, double tokens_of_step);

// Tokens of a sequence in a step: crop_context if given, otherwise the model's context_length; none if the record lacks
// both.
std::optional<double> step_context(const Record& record);

// Tokens per second of a pass that takes `seconds`; none if the record lacks its batch or context.
std::optional<double> tokens_per_second(const Record& record, double seconds);

// The recomputation in the plan if it is not the value of --recompute: the choice of `auto`, or "cheap ops" on a GPU.
// Empty if the plan follows --recompute or recomputes nothing.
std::string unasked_recompute(const Record& record);

// The predicted seconds of a pass or phase; none without a prediction.
std::optional<double> predicted_seconds(const Record& record, const std::string& key);
std::string pass_name(const Record& record);

// Published times divided by their lower bounds, over all machines; docs/predictions.md has the same table.
struct PublishedRatio {
  std::string_view arithmetic;  // "bfloat16 autocast", "tf32", "float32"
  std::string_view mode;        // "eager", "compile"
  int64_t times = 0;            // number of published times
  double median = 0, low = 0, high = 0;
};
std::span<const PublishedRatio> published_ratios();

// The ratio for a number type ("bfloat16") and mode. None if nothing was published for that arithmetic.
std::optional<PublishedRatio> published_ratio(std::string_view dtype, std::string_view mode);

// A predicted and a measured time, in seconds.
struct PredictedPart {
  std::string part;  // "backward matmul", "forward", "step"
  double predicted = 0;
  double measured = 0;

  double error() const { return predicted / measured - 1; }
};
// Classes by phase, then phases, then the whole pass; empty without a prediction or a measured time.
std::vector<PredictedPart> predicted_parts(const Record& record);

}  // namespace laptime
