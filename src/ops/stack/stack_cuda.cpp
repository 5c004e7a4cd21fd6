// Kernels of stack and concat on a CUDA device: a copy into each part of the result.
#include "ops/stack/stack.h"

#include "ops/move_cuda.h"

namespace laptime::cuda {
namespace {

void launch_stack(const KernelCall& call) {
  for (int which = 0; which < 2; ++which) {
    TensorView part = call.out[0];
    part.type.layout = stacked_part(part.type.layout, call.attributes.as<StackAttributes>().axis, which);
    launch_move(call, call.in[static_cast<size_t>(which)], part);
  }
}

void launch_concat(const KernelCall& call) {
  const int axis = call.attributes.as<ConcatAttributes>().axis;
  int64_t begin = 0;
  for (const TensorView& from : call.in) {
    const int64_t size = from.shape()[axis];
    TensorView part = call.out[0];
    part.type.layout = sliced(part.type.layout, axis, begin, size, 1);
    launch_move(call, from, part);
    begin += size;
  }
}

}  // namespace

std::vector<Kernel> stack_kernels() {
  return {{.op = &kStack, .name = "halves", .launch = launch_stack},
          {.op = &kConcat, .name = "parts", .launch = launch_concat}};
}

}  // namespace laptime::cuda
