// Trial: times kernels in isolation on operands of one signature.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"

namespace laptime {

class Trial {
 public:
  // Bytes of memory that a trial of this kernel needs: operands and workspace. `absent` are the optional outputs that
  // the step does not read and the kernel therefore does not write.
  static int64_t bytes(const Signature& signature, IndexSet absent, const Kernel& kernel);

  // Fills floating-point inputs with random numbers around 0, because products of zeros run faster than real work, and
  // integers and masks with 0. `memory` must have the largest `bytes` of the kernels, aligned to 64. Backend, signature
  // and memory must outlive the trial.
  Trial(Backend& backend, const Signature& signature, IndexSet absent, DeviceMemory& memory);

  // Runs the kernel, which the backend has prepared, once and returns the time.
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
