// Kernels of attention by tiles of AMX.
#include "ops/scaled_dot_product_attention/amx/attention_cpu.h"

#include "ops/scaled_dot_product_attention/amx/backward_cpu.h"
#include "ops/scaled_dot_product_attention/amx/forward_cpu.h"

namespace laptime::LAPTIME_ISA {
namespace {

template <class Element>
void forward(const KernelCall& call) {
  const AttentionShape shape(call, kForwardStep);
  const int64_t rows = group_rows(shape);
  const int64_t groups = ceil_div(shape.positions, rows);
  cpu::team_of(call).parallel_for(groups * shape.heads, [&](int64_t index, int lane) {
    configure_amx();
    // Those with most keys first.
    AmxForwardGroup<Element>(call, shape, index % shape.heads, (groups - 1 - index / shape.heads) * rows,
                             cpu::team_of(call).scratch(lane))
        .run();
    release_amx();
  });
}

template <class Element>
void backward(const KernelCall& call) {
  using Part = AmxBackwardPart<Element>;
  const AttentionShape shape(call, kBackwardStep);
  const KeyParts parts(shape.heads, shape.positions, shape.causal);
  auto* const sums = reinterpret_cast<float*>(call.workspace);
  const int64_t floats = Part::sums(shape.positions, shape.width);
  const bool in_scratch = Part::sums_in_scratch(parts, shape.width);
  cpu::team_of(call).parallel_for(shape.heads * parts.count, [&](int64_t index, int lane) {
    const int64_t part = index % parts.count;
    configure_amx();
    Part(call, shape, index / parts.count, in_scratch ? nullptr : sums + index * floats, parts.count == 1,
         cpu::team_of(call).scratch(lane))
        .run(parts.first_block(part), parts.first_block(part + 1));
    release_amx();
  });
  if (parts.count > 1) add_parts<Element>(call, shape, parts, sums, floats, Part::pitch(shape.width), shape.scale());
}

template <class Element>
int64_t workspace(const Signature& signature) {
  using Part = AmxBackwardPart<Element>;
  const Shape& shape = signature.in[0].shape();
  const KeyParts parts(signature);
  if (Part::sums_in_scratch(parts, shape[3])) return 0;
  return (Size(Part::sums(shape[2], shape[3])) * shape[0] * shape[1] * parts.count * int64_t{sizeof(float)}).value();
}

bool is_narrow(const DType dtype) { return dtype == DType::kBFloat16; }

}  // namespace

void amx_attention(const KernelCall& call) {
  is_narrow(call.in[0].type.dtype) ? forward<Brain>(call) : forward<float>(call);
}
void amx_attention_backward(const KernelCall& call) {
  is_narrow(call.in[0].type.dtype) ? backward<Brain>(call) : backward<float>(call);
}
int64_t amx_attention_backward_workspace(const Signature& signature) {
  return is_narrow(signature.in[0].dtype) ? workspace<Brain>(signature) : workspace<float>(signature);
}

}  // namespace laptime::LAPTIME_ISA
