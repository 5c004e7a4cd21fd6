// Kernels of the structural ops on a CUDA device.
#include "ops/copy/copy.h"
#include "ops/move_cuda.h"

namespace laptime::cuda {
namespace {

void copy(const KernelCall& call) { launch_move(call, call.in[0], call.out[0]); }
void assign(const KernelCall& call) { launch_move(call, call.in[1], call.out[0]); }
void fill(const KernelCall& call) { launch_fill(call, call.out[0], call.attributes.as<FillAttributes>().value); }

void slice_backward(const KernelCall& call) {
  const auto& slice = call.attributes.as<SliceBackwardAttributes>();
  TensorView window = call.out[0];
  window.type.layout = sliced(window.type.layout, slice.axis, slice.begin, call.in[0].shape()[slice.axis], slice.step);
  launch_fill(call, call.out[0], 0);
  launch_move(call, call.in[0], window);
}

}  // namespace

std::vector<Kernel> copy_kernels() {
  return {
      {.op = &kContiguous, .name = "elements", .launch = copy},
      {.op = &kCast, .name = "elements", .launch = copy},
      {.op = &kAssign, .name = "elements", .launch = assign},
      {.op = &kFill, .name = "elements", .launch = fill},
      {.op = &kSliceBackward, .name = "window", .launch = slice_backward},
  };
}

}  // namespace laptime::cuda
