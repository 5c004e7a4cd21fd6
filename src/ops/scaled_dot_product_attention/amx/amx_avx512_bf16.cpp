// Launches of the AMX kernels of attention.
#include "ops/scaled_dot_product_attention/amx/amx_cpu.h"

#include "ops/scaled_dot_product_attention/amx/backward_cpu.h"
#include "ops/scaled_dot_product_attention/amx/forward_cpu.h"

namespace laptime::LAPTIME_ISA::attention::amx {
namespace {

template <class Element>
void forward(const KernelCall& call) {
  const AttentionShape shape(call, kForwardStep);
  const int64_t rows = group_rows(shape);
  const int64_t groups = ceil_div(shape.positions, rows);
  cpu::team_of(call).parallel_for(groups * shape.heads, [&](int64_t index, int thread) {
    const RowGroup group = row_group(index, shape, rows);
    ForwardGroup<Element>(call, shape, group, cpu::team_of(call).scratch(thread)).run();
  });
}

bool is_bfloat16(const DType dtype) { return dtype == DType::kBFloat16; }

}  // namespace

void launch_forward(const KernelCall& call) {
  is_bfloat16(call.in[0].type.dtype) ? forward<BFloat16>(call) : forward<float>(call);
}
void launch_backward(const KernelCall& call) {
  is_bfloat16(call.in[0].type.dtype) ? attention::launch_backward<BFloat16, BackwardPart>(call)
                                     : attention::launch_backward<float, BackwardPart>(call);
}
int64_t backward_workspace(const Signature& signature) {
  return is_bfloat16(signature.in[0].dtype) ? attention::backward_workspace<BFloat16, BackwardPart>(signature)
                                            : attention::backward_workspace<float, BackwardPart>(signature);
}

}  // namespace laptime::LAPTIME_ISA::attention::amx
