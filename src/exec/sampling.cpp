// Collects steps into samples and asks the stopping rule after each sample.
#include "exec/sampling.h"

#include <algorithm>
#include <utility>

namespace laptime {

SampleSeries::SampleSeries(const StoppingRule& rule, bool fixed, ReportedTime reported)
    : rule_(rule), fixed_(fixed), reported_(std::move(reported)) {}

void SampleSeries::add(Timeline step) {
  const Seconds time = reported_ ? reported_(step) : step.total();
  sampling_.steps.push_back(std::move(step));
  sum_ += time;
  ++steps_in_batch_;
  const auto taken = static_cast<int64_t>(sampling_.steps.size());
  const bool chooses_batch = !fixed_ && taken <= 2;
  if (!chooses_batch && steps_in_batch_ < sampling_.steps_per_sample) return;
  sums_.push_back(sum_.count());
  ends_.push_back((sampling_.steps.back().end - sampling_.steps.front().begin).count());
  sum_ = Seconds{};
  steps_in_batch_ = 0;
  if (chooses_batch && taken == 2) choose_batch(time, sampling_.steps.back().total());
  decide();
}

// A batch has enough steps for their reported parts to fill kShortestSample. If these parts are a small fraction of the
// steps, such a batch could take far longer than the budget, which is checked only between batches. A batch of
// several steps therefore takes at most about ten times kShortestSample.
void SampleSeries::choose_batch(Seconds reported, Seconds whole) {
  constexpr double kMostTimes = 10;
  sampling_.steps_per_sample =
      std::min(laptime::steps_per_sample(reported), laptime::steps_per_sample(whole / kMostTimes));
  if (sampling_.steps_per_sample == 1) return;
  sums_.clear();
  ends_.clear();
  steps_before_batches_ = 2;
}

void SampleSeries::decide() {
  const SamplingDecision decision = rule_.decide(sums_, ends_);
  sampling_.warmup = steps_before_batches_ + decision.warmup * sampling_.steps_per_sample;
  is_done_ = decision.stop.has_value();
  if (is_done_) sampling_.reason = *decision.stop;
}

Sampling SampleSeries::finish(bool interrupted) && {
  sampling_.interrupted = interrupted;
  return std::move(sampling_);
}

}  // namespace laptime
