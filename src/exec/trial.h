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
  // The memory that a trial of these kernels takes: operands and scratch.
  static int64_t bytes(const Signature& signature, std::span<const Kernel* const> kernels);

  // Inputs hold random numbers around 0 (a product of zeros runs faster than real work), integers and masks hold 0.
  // `memory` has the bytes that `bytes` says, aligned to 64. Backend, signature and memory must outlive the trial.
  Trial(Backend& backend, const Signature& signature, DeviceMemory& memory);

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
