// GroupQueue: the queue in which a CUDA device runs communication, concurrently with its other kernels.
#pragma once

#include <cstdint>
#include <span>

#include "backend/kernel.h"

namespace laptime::cuda {

enum class Collective : uint8_t { kAllReduce, kReduceScatter, kAllGather };

class GroupQueue : public laptime::Queue {
 public:
  // Enqueues one launch that applies the collective to each input and writes the output with the same index. Tensors
  // are float32 and contiguous. If a collective works in place, the smaller tensor is the rank's chunk of the larger
  // one.
  virtual void launch(Collective collective, std::span<const TensorView> in, std::span<const TensorView> out) = 0;
};

}  // namespace laptime::cuda
