// Trial: kernels timed alone on operands of one signature.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"

namespace laptime {

class Trial {
 public:
  // The memory that a trial of this kernel takes: operands and workspace. `absent`: optional outputs that the step does
  // not read and the kernel therefore does not write.
  static int64_t bytes(const Signature& signature, IndexSet absent, const Kernel& kernel);

  // Inputs hold random numbers around 0 (a product of zeros runs faster than real work), integers and masks hold 0.
  // `memory` has the largest of the kernels' `bytes`, aligned to 64. Backend, signature and memory must outlive the
  // trial.
  Trial(Backend& backend, const Signature& signature, IndexSet absent, DeviceMemory& memory);

  // Before the kernel's first run; not timed, as it is not in a step.
  void prepare(const Kernel& kernel);
  // One run.
  Seconds time(const Kernel& kernel);

 private:
  Backend& backend_;
  const Signature& signature_;
  std::vector<TensorView> operands_;  // inputs, then outputs
  std::byte* workspace_;
  double flops_;
  int64_t bytes_;
};

}  // namespace laptime
