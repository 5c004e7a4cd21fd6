// Kernels of stack and concat on a CUDA device: a copy into each part of the result.
#include "ops/stack/stack.h"

#include "ops/move_cuda.h"

namespace laptime::cuda {
namespace {

void launch_stack(const KernelCall& call) {
  for (size_t which = 0; which < 2; ++which)
    launch_move(call, call.in[which], stacked_part(call.attributes, call.out[0], which));
}

void launch_concat(const KernelCall& call) {
  for (size_t which = 0; which < 2; ++which)
    launch_move(call, call.in[which], concatenated_part(call.attributes, call.in, call.out[0], which));
}

}  // namespace

std::vector<Kernel> stack_kernels() {
  return {{.op = &kStack, .name = "halves", .launch = launch_stack},
          {.op = &kConcat, .name = "parts", .launch = launch_concat}};
}

}  // namespace laptime::cuda
