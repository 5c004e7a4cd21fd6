// Repeats a run up to the step in which its values stopped being finite, and examines that step op by op.
#include "measure/first_nan.h"

#include "measure/fill_sources.h"

namespace laptime {
namespace {

// The run again, one step at a time.
class Repetition {
 public:
  Repetition(const Prepared& prepared, Backend& backend, const StartingWeights& weights)
      : executor_(prepared.plan, backend), inputs_(prepared.config) {
    fill_weights(executor_, prepared.config, weights, prepared.device.threads.value_or(1));
  }

  // Runs until `steps` steps are done; false if `stop` ended it.
  bool run_to(int64_t steps, const std::function<bool()>& stop) {
    for (; done_ < steps; ++done_) {
      if (stop && stop()) return false;
      inputs_.write(executor_, done_);
      executor_.run();
    }
    return true;
  }

  bool state_is_good() const { return !executor_.state_holds_nan(); }

  std::optional<Executor::NanSite> examine_next() {
    inputs_.write(executor_, done_);
    return executor_.find_nan();
  }

 private:
  Executor executor_;
  StepInputs inputs_;
  int64_t done_ = 0;
};

}  // namespace

std::optional<Executor::NanSite> find_first_nan(const Prepared& prepared, Backend& backend,
                                                const StartingWeights& weights, int64_t steps,
                                                const std::function<bool()>& stop) {
  const int64_t last = steps - 1;
  bool is_last = true;
  {
    Repetition run(prepared, backend, weights);
    if (last > 0) {
      if (!run.run_to(last - 1, stop)) return std::nullopt;
      const bool was_good = run.state_is_good();
      if (!run.run_to(last, stop)) return std::nullopt;
      is_last = !was_good || run.state_is_good();
    }
    if (is_last) return run.examine_next();
  }
  Repetition run(prepared, backend, weights);
  if (!run.run_to(last - 1, stop)) return std::nullopt;
  return run.examine_next();
}

}  // namespace laptime
