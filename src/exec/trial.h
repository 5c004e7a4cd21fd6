// Trial: kernels timed alone, one after another, on operands of one signature.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "backend/backend.h"

namespace laptime {

class Trial {
 public:
  // Takes memory for the operands; they hold random numbers around 0 (a product of zeros runs faster than real work),
  // integers and masks hold 0. The backend must outlive the trial.
  Trial(Backend& backend, const Signature& signature);

  // The shortest of a few runs after one that warms up. Where that first one takes twice `best` or longer the kernel
  // cannot win, and its time is the answer.
  Seconds time(const Kernel& kernel, Seconds best = Seconds(std::numeric_limits<double>::infinity()));

 private:
  Backend& backend_;
  const Signature& signature_;
  std::unique_ptr<DeviceMemory> memory_;
  std::vector<TensorView> operands_;  // inputs, then outputs
};

}  // namespace laptime
