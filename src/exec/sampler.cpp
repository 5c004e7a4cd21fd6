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
      const Seconds elapsed = sampling_.steps.back().end - sampling_.steps.front().begin;
      const SamplingDecision decision = request_.rule.decide(sums_, elapsed);
      sampling_.warmup = steps_before_batches_ + decision.warmup * sampling_.steps_per_sample;
      if (!decision.stop) continue;
      sampling_.reason = *decision.stop;
      break;
    }
    sampling_.steady_state = request_.rule.steady_state(sums_);
    return std::move(sampling_);
  }

 private:
  Seconds step() {
    const auto number = static_cast<int64_t>(sampling_.steps.size());
    if (hooks_.before) hooks_.before(number);
    sampling_.steps.push_back(executor_.run(marks_));
    if (hooks_.launches && marks_ == Marks::kLaunches) hooks_.launches(number, executor_.launch_times());
    if (hooks_.after) hooks_.after(number, sampling_.steps.back());
    const Seconds total = sampling_.steps.back().total();
    if (number == 0) choose_marks(total);
    return total;
  }

  void choose_marks(Seconds step) {
    if (request_.launch_marks_below <= 0) return;
    const Seconds marks = executor_.cost_of_mark() * static_cast<double>(executor_.plan().steps.size());
    if (marks < step * request_.launch_marks_below) marks_ = Marks::kLaunches;
  }

  // Chooses steps per sample from the second of two steps, because the first one runs with cold caches. Both steps
  // count as warm-up.
  void choose_batch() {
    const Seconds first = step();
    const Seconds second = step();
    sampling_.steps_per_sample = laptime::steps_per_sample(second);
    if (sampling_.steps_per_sample == 1) {
      sums_ = {first.count(), second.count()};
    } else {
      steps_before_batches_ = 2;
    }
  }

  void take_sample() {
    Seconds sum{};
    for (int64_t i = 0; i < sampling_.steps_per_sample; ++i) sum += step();
    sums_.push_back(sum.count());
  }

  Executor& executor_;
  const SamplingRequest& request_;
  const StepHooks& hooks_;
  Sampling sampling_;
  std::vector<double> sums_;  // seconds of each batch of steps_per_sample steps
  Marks marks_ = Marks::kPhases;
  int64_t steps_before_batches_ = 0;  // steps that ran before the first batch
};

}  // namespace

Sampling sample(Executor& executor, const SamplingRequest& request, const StepHooks& hooks) {
  return Sampler(executor, request, hooks).run();
}

}  // namespace laptime
