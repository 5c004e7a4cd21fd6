// Sampling: the steps of a run, and the series that decides after each step whether another one is needed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "distribution/stopping_rule.h"
#include "timeline/timeline.h"

namespace laptime {

// All steps in order: the warm-up, then the samples.
struct Sampling {
  std::vector<Timeline> steps;   // every single step that ran
  int64_t warmup = 0;            // how many of `steps` are warm-up
  int64_t steps_per_sample = 1;  // more than one if a single step is too short to time
  StopReason reason = StopReason::kFixed;
  bool interrupted = false;

  int64_t sample_count() const { return (static_cast<int64_t>(steps.size()) - warmup) / steps_per_sample; }
};

// Returns the reported part of a step's time. Steady state, batching and the end of sampling depend on this part. Null:
// the whole step.
using ReportedTime = std::function<Seconds(const Timeline&)>;

// Receives the steps of a run one at a time, from any caller, and applies a stopping rule. If the rule is not fixed,
// the second step determines how many steps make a sample, because the first one runs with cold caches. Both steps are
// warm-up.
class SampleSeries {
 public:
  SampleSeries(const StoppingRule& rule, bool fixed, ReportedTime reported = {});

  // Adds a completed step. Timelines must use the same clock and must not overlap.
  void add(Timeline step);

  bool is_done() const { return is_done_; }
  // False while a sample of several steps is incomplete.
  bool is_between_samples() const { return steps_in_batch_ == 0; }
  const Sampling& so_far() const { return sampling_; }

  // Ends the series and returns its steps. `interrupted`: sampling ended before the rule was satisfied.
  Sampling finish(bool interrupted) &&;

 private:
  void choose_batch(Seconds reported, Seconds whole);
  void decide();

  StoppingRule rule_;
  bool fixed_;
  ReportedTime reported_;
  Sampling sampling_;
  std::vector<double> sums_;  // reported seconds of each batch of steps_per_sample steps
  std::vector<double> ends_;  // seconds from the start of the first step to the end of each batch
  Seconds sum_{};             // reported seconds of the current batch so far
  int64_t steps_in_batch_ = 0;
  int64_t steps_before_batches_ = 0;  // steps that ran before the first batch
  bool is_done_ = false;
};

}  // namespace laptime
