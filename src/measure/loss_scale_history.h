// Follows the loss scale of a run from step to step.
#pragma once

#include <cstdint>

#include "exec/executor.h"
#include "record/record.h"

namespace laptime {

// Reads the states of loss scaling after each step. Does nothing for a step without loss scaling, or a device that
// computes nothing.
class LossScaleHistory {
 public:
  // `initial` is the scale of the first step.
  explicit LossScaleHistory(double initial) : scale_(initial) {}

  // Call after every step, in order.
  void add_step(const Executor& executor);
  const LossScalingUse& result() const { return use_; }

 private:
  double scale_;
  int64_t steps_ = 0, applied_ = 0;
  LossScalingUse use_;
};

}  // namespace laptime
