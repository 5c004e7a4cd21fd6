// Runs the sampling loop.
#include "exec/sampler.h"

namespace laptime {
namespace {

class Sampler {
 public:
  Sampler(Executor& executor, const SamplingRequest& request, const StepHooks& hooks)
      : executor_(executor), request_(request), hooks_(hooks) {}

  Sampling run() {
    if (!request_.fixed) choose_batch();
    for (;;) {
      if (hooks_.interrupted && hooks_.interrupted()) {
        sampling_.interrupted = true;
        break;
      }
      take_sample();
      const SamplingDecision decision = request_.rule.decide(sums_, ends_);
      sampling_.warmup = steps_before_batches_ + decision.warmup * sampling_.steps_per_sample;
      if (!decision.stop) continue;
      sampling_.reason = *decision.stop;
      break;
    }
    sampling_.steady_state = request_.rule.steady_state(sums_, ends_);
    return std::move(sampling_);
  }

 private:
  Seconds step() {
    const auto number = static_cast<int64_t>(sampling_.steps.size());
    if (hooks_.before) hooks_.before(number);
    sampling_.steps.push_back(executor_.run(marks_));
    if (hooks_.launches && marks_ == Marks::kLaunches) hooks_.launches(number, executor_.launch_times());
    if (hooks_.after) hooks_.after(number, sampling_.steps.back());
    const Timeline& timeline = sampling_.steps.back();
    if (number == 0) choose_marks(timeline.total());
    return request_.reported ? request_.reported(timeline) : timeline.total();
  }

  void choose_marks(Seconds step) {
    if (request_.launch_marks_below <= 0) return;
    const Seconds marks = executor_.cost_of_mark() * static_cast<double>(executor_.plan().steps.size());
    if (marks < step * request_.launch_marks_below) marks_ = Marks::kLaunches;
  }

  // Adds a batch for the rule.
  void add(Seconds sum) {
    sums_.push_back(sum.count());
    ends_.push_back((sampling_.steps.back().end - sampling_.steps.front().begin).count());
  }

  // Chooses steps per sample from the second of two steps, because the first one runs with cold caches. Both steps
  // count as warm-up.
  void choose_batch() {
    add(step());
    const Seconds second = step();
    add(second);
    sampling_.steps_per_sample = laptime::steps_per_sample(second);
    if (sampling_.steps_per_sample == 1) return;
    sums_.clear();
    ends_.clear();
    steps_before_batches_ = 2;
  }

  void take_sample() {
    Seconds sum{};
    for (int64_t i = 0; i < sampling_.steps_per_sample; ++i) sum += step();
    add(sum);
  }

  Executor& executor_;
  const SamplingRequest& request_;
  const StepHooks& hooks_;
  Sampling sampling_;
  std::vector<double> sums_;  // reported seconds of each batch of steps_per_sample steps
  std::vector<double> ends_;  // wall clock at the end of each batch, from the first step
  Marks marks_ = Marks::kPhases;
  int64_t steps_before_batches_ = 0;  // steps that ran before the first batch
};

}  // namespace

Sampling sample(Executor& executor, const SamplingRequest& request, const StepHooks& hooks) {
  return Sampler(executor, request, hooks).run();
}

}  // namespace laptime
