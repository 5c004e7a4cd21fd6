// Trial: times kernels in isolation, on operands of one signature. Long launches are timed with a smaller batch.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "backend/backend.h"

namespace laptime {

// Returns the signature of the same launch for a smaller batch, so that it has about `flops` FLOPs but at least one
// sequence. The batch is the first axis of all inputs with three or more axes. Returns the signature itself if it has
// no more FLOPs than that, if these axes differ in size, or if the op is not a contraction.
Signature with_smaller_batch(const Signature& signature, double flops);

class Trial {
 public:
  // Bytes of memory that a trial of this kernel needs: operands and workspace. `absent` lists the optional outputs that
  // the step does not read, which the kernel therefore does not write.
  static int64_t bytes(const Signature& signature, IndexSet absent, const Kernel& kernel);

  // Fills integers and masks with 0, and floating-point inputs with random numbers around 0, because products of zeros
  // run faster than real work. `memory` must have the maximum of `bytes` over the kernels, aligned to 64 bytes.
  // Backend, signature and memory must outlive the trial.
  Trial(Backend& backend, const Signature& signature, IndexSet absent, DeviceMemory& memory);

  // On a device with its own clock, launches the kernel once, untimed, unless it has run before: a first launch may
  // load code. Throws Error if the launch fails. Does nothing on other devices.
  void warm_up(const Kernel& kernel);

  // Runs the kernel, which the backend has prepared, and returns the time of a launch. On a device with its own clock,
  // the time is taken between marks around one launch, or around several launches of a short kernel, and excludes the
  // time that the host takes to enqueue them; the kernel is warmed up first.
  Seconds time(const Kernel& kernel);

 private:
  Launch launch_of(const Kernel& kernel) const;
  // Mean time of `launches` launches, all of which are queued before the first one starts.
  Seconds time_in_queue(const Launch& launch, int launches);

  Backend& backend_;
  const Signature& signature_;
  std::vector<TensorView> operands_;  // inputs, then outputs
  std::byte* workspace_;
  double flops_;
  int64_t bytes_;
  std::set<const Kernel*> launched_;
};

}  // namespace laptime
