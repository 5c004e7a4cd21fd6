// Runs steps until their series is complete.
#include "exec/sampler.h"

#include <utility>

namespace laptime {
namespace {

class Sampler {
 public:
  Sampler(Executor& executor, const SamplingRequest& request, const StepHooks& hooks)
      : executor_(executor), request_(request), hooks_(hooks), series_(request.rule, request.fixed, request.reported) {}

  Sampling run() {
    if (request_.marks_first) marks_ = Marks::kLaunches;
    for (;;) {
      const bool wants_step = !series_.is_done() && !is_interrupted();
      if (!(hooks_.agree ? hooks_.agree(wants_step) : wants_step)) break;
      step();
    }
    const bool interrupted = !series_.is_done();
    return std::move(series_).finish(interrupted);
  }

 private:
  bool is_interrupted() const { return series_.is_between_samples() && hooks_.interrupted && hooks_.interrupted(); }

  void step() {
    const auto number = static_cast<int64_t>(series_.so_far().steps.size());
    if (hooks_.before) hooks_.before(number);
    const Timeline timeline = executor_.run(marks_);
    if (hooks_.launches && marks_ == Marks::kLaunches) hooks_.launches(number, executor_.launch_times());
    series_.add(timeline);
    if (hooks_.after) hooks_.after(number, timeline);
    if (number == 0) choose_marks(timeline.total());
  }

  void choose_marks(Seconds step) {
    const Seconds marks = request_.mark * static_cast<double>(executor_.plan().steps.size());
    const bool are_cheap = marks < step * request_.launch_marks_below;
    // Recorded steps have marks of phases only.
    marks_ = are_cheap && !executor_.is_recorded() ? Marks::kLaunches : Marks::kPhases;
  }

  Executor& executor_;
  const SamplingRequest& request_;
  const StepHooks& hooks_;
  SampleSeries series_;
  Marks marks_ = Marks::kPhases;
};

}  // namespace

Sampling sample(Executor& executor, const SamplingRequest& request, const StepHooks& hooks) {
  return Sampler(executor, request, hooks).run();
}

}  // namespace laptime
