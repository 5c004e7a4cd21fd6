// Kernels of stack and concat: two strided copies, or one interleaving pass if the new axis is the last one and
// elements have 2 or 4 bytes.
#include "ops/stack/stack.h"

#include "backend/cpu/vector/copy_elements.h"

namespace laptime::LAPTIME_ISA {
namespace {

// Writes a and b alternately to the result; `first` is the part of the result that receives a.
template <class Word>
void interleave(cpu::Team& team, const TensorView& a, const TensorView& b, const TensorView& first) {
  const Layout* layouts[] = {&first.type.layout, &a.type.layout, &b.type.layout};
  const LoopNest nest = memory_order_nest(a.shape(), layouts);
  for_strips(team, nest, [&](const StripWalk& walk) {
    std::array<Word, kStripSize> buffer_a;
    std::array<Word, kStripSize> buffer_b;
    for (int64_t row = 0; row < walk.rows(); ++row) {
      const Word* from_a = raw_elements(a, walk.position(1) + row * nest.row_stride(1), nest.column_stride(1),
                                        walk.columns(), buffer_a.data());
      const Word* from_b = raw_elements(b, walk.position(2) + row * nest.row_stride(2), nest.column_stride(2),
                                        walk.columns(), buffer_b.data());
      Word* to = reinterpret_cast<Word*>(first.data) + walk.position(0) + row * nest.row_stride(0);
#pragma omp simd
      for (int64_t i = 0; i < walk.columns(); ++i) {
        to[2 * i] = from_a[i];
        to[2 * i + 1] = from_b[i];
      }
    }
  });
}

// (a [...], b [...]) -> [..., 2, ...]
void launch(const KernelCall& call) {
  cpu::Team& team = cpu::team_of(call);
  const TensorView first = stacked_part(call.attributes, call.out[0], 0);
  const Shape& shape = call.in[0].shape();
  const bool last = call.attributes.as<StackAttributes>().axis == shape.rank() && !shape.empty() && shape.back() > 1;
  if (last && size_of(first.type.dtype) == 4) return interleave<uint32_t>(team, call.in[0], call.in[1], first);
  if (last && size_of(first.type.dtype) == 2) return interleave<uint16_t>(team, call.in[0], call.in[1], first);
  copy_elements(team, call.in[0], first);
  copy_elements(team, call.in[1], stacked_part(call.attributes, call.out[0], 1));
}

void launch_concat(const KernelCall& call) {
  for (size_t which = 0; which < 2; ++which)
    copy_elements(cpu::team_of(call), call.in[which], concatenated_part(call.attributes, call.in, call.out[0], which));
}

}  // namespace

std::vector<Kernel> stack_kernels() {
  return {{.op = &kStack, .name = isa_name("interleave"), .launch = launch},
          {.op = &kConcat, .name = isa_name("copies"), .launch = launch_concat}};
}

}  // namespace laptime::LAPTIME_ISA
