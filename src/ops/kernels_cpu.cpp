// Expansion of op_list.inc into the kernels of one instruction set.
#include "ops/kernels_cpu.h"

#include <iterator>

#include "ops/registry.h"

// A family without kernels of its own expands to nothing.
#define LAPTIME_FAMILY_0(action)
#define LAPTIME_FAMILY_1(action) action

namespace laptime {

#define LAPTIME_OP_FAMILY(family, has_kernels) LAPTIME_FAMILY_##has_kernels(std::vector<Kernel> family##_kernels();)
namespace plain {
#include "ops/op_list.inc"
}  // namespace plain
namespace avx2 {
#include "ops/op_list.inc"
}  // namespace avx2
namespace avx512 {
#include "ops/op_list.inc"
}  // namespace avx512
namespace avx512_bf16 {
#include "ops/op_list.inc"
}  // namespace avx512_bf16
#undef LAPTIME_OP_FAMILY

namespace {

template <class Family>
void append(std::vector<Kernel>& kernels, Family family) {
  std::vector<Kernel> more = family();
  kernels.insert(kernels.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

#define LAPTIME_OP_FAMILY(family, has_kernels) LAPTIME_FAMILY_##has_kernels(append(kernels, isa::family##_kernels);)
void append_plain(std::vector<Kernel>& kernels) {
  namespace isa = plain;
#include "ops/op_list.inc"
}
void append_avx2(std::vector<Kernel>& kernels) {
  namespace isa = avx2;
#include "ops/op_list.inc"
}
void append_avx512(std::vector<Kernel>& kernels) {
  namespace isa = avx512;
#include "ops/op_list.inc"
}
void append_avx512_bf16(std::vector<Kernel>& kernels) {
  namespace isa = avx512_bf16;
#include "ops/op_list.inc"
}
#undef LAPTIME_OP_FAMILY

}  // namespace

std::vector<Kernel> cpu_kernels(cpu::Isa isa) {
  std::vector<Kernel> kernels;
  switch (isa) {
    case cpu::Isa::kPlain: append_plain(kernels); break;
    case cpu::Isa::kAvx2: append_avx2(kernels); break;
    case cpu::Isa::kAvx512: append_avx512(kernels); break;
    case cpu::Isa::kAvx512Bf16: append_avx512_bf16(kernels); break;
  }
  for (const OpCard* op : all_ops()) {
    if (op->reference != nullptr) kernels.push_back(reference_kernel(*op));
  }
  return kernels;
}

}  // namespace laptime
