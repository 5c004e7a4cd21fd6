// Kernels of the structural ops on a CUDA device.
#include "ops/copy/copy_cuda.h"

#include "ops/copy/copy.h"
#include "ops/move_cuda.h"

namespace laptime::cuda {
namespace {

void copy(const KernelCall& call) { launch_move(call, call.in[0], call.out[0]); }
void assign(const KernelCall& call) { launch_move(call, call.in[1], call.out[0]); }
void fill(const KernelCall& call) { launch_fill(call, call.out[0], call.attributes.as<FillAttributes>().value); }

std::string slice_backward_refusal(const Signature& signature) {
  const bool adds = signature.attributes.as<SliceBackwardAttributes>().addend;
  return adds && !moves_fours(signature.out[0].dtype) ? "the sum of gradients is not float32, bfloat16 or float16" : "";
}

void slice_backward(const KernelCall& call) {
  const auto& slice = call.attributes.as<SliceBackwardAttributes>();
  TensorView window = call.out[0];
  window.type.layout = sliced(window.type.layout, slice.axis, slice.begin, call.in[0].shape()[slice.axis], slice.step);
  if (slice.addend) {
    if (call.in[1].data != call.out[0].data) launch_move(call, call.in[1], call.out[0]);
    launch_elements<AddToWindow>(call, window.numel(), elements_of_call<2>({&window, 1}, {&call.in[0], 1}));
    return;
  }
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
      {.op = &kSliceBackward, .name = "window", .supports = slice_backward_refusal, .launch = slice_backward},
  };
}

}  // namespace laptime::cuda
