// Launches the attention kernels that multiply bfloat16 pairs.
#include "ops/scaled_dot_product_attention/pairs/backward_cpu.h"
#include "ops/scaled_dot_product_attention/pairs/forward_cpu.h"
#include "ops/scaled_dot_product_attention/pairs/pairs_cpu.h"

namespace laptime::LAPTIME_ISA::attention::pairs {
namespace {

template <class Element, class Unit>
void forward(const KernelCall& call) {
  const AttentionShape shape(call, kForwardStep);
  const int64_t rows = group_rows(shape);
  const int64_t groups = ceil_div(shape.positions, rows);
  const auto run_group = [&](int64_t index, int thread) {
    const RowGroup group = row_group(index, shape, rows);
    ForwardGroup<Element, Unit>(call, shape, group, cpu::team_of(call).scratch(thread)).run();
  };
  cpu::team_of(call).parallel_for(groups * shape.heads, run_group, shape.work(2, groups));
}

template <class Element>
using AmxBackwardPart = BackwardPart<Element, AmxTiles>;
template <class Element>
using DotBackwardPart = BackwardPart<Element, DotVectors>;

bool is_bfloat16(const DType dtype) { return dtype == DType::kBFloat16; }

}  // namespace

void launch_amx_forward(const KernelCall& call) {
  is_bfloat16(call.in[0].type.dtype) ? forward<BFloat16, AmxTiles>(call) : forward<float, AmxTiles>(call);
}
void launch_amx_backward(const KernelCall& call) {
  is_bfloat16(call.in[0].type.dtype) ? attention::launch_backward<BFloat16, AmxBackwardPart>(call)
                                     : attention::launch_backward<float, AmxBackwardPart>(call);
}
int64_t amx_backward_workspace(const Signature& signature) {
  return is_bfloat16(signature.in[0].dtype) ? attention::backward_workspace<BFloat16, AmxBackwardPart>(signature)
                                            : attention::backward_workspace<float, AmxBackwardPart>(signature);
}

void launch_dot_forward(const KernelCall& call) { forward<BFloat16, DotVectors>(call); }
void launch_dot_backward(const KernelCall& call) { attention::launch_backward<BFloat16, DotBackwardPart>(call); }
int64_t dot_backward_workspace(const Signature& signature) {
  return attention::backward_workspace<BFloat16, DotBackwardPart>(signature);
}

}  // namespace laptime::LAPTIME_ISA::attention::pairs
