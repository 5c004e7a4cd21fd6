// Copies and fills on a CUDA device, for ops that move elements.
#pragma once

#include "backend/cuda/move.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {

// Copies the elements of `from` to `to`, which has the same shape, converting them to its type.
inline void launch_move(const KernelCall& call, const TensorView& from, const TensorView& to) {
  launch_mapped<CopyElements>(call, elements_of_call<2>({&to, 1}, {&from, 1}));
}
inline void launch_fill(const KernelCall& call, const TensorView& to, double value) {
  launch_elements<FillElements>(call, to.numel(), {elements_of_call<1>({&to, 1}, {}), value});
}

}  // namespace laptime::cuda
