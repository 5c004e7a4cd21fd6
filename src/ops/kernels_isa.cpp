// Expands op_list.inc into the kernels of one instruction set.
#include "backend/cpu/isa_namespace.h"
#include "backend/kernel.h"

// A family without kernels expands to nothing.
#define LAPTIME_FAMILY_0(action)
#define LAPTIME_FAMILY_1(action) action

namespace laptime::LAPTIME_ISA {

#define LAPTIME_OP_FAMILY(family, has_kernels, has_cuda_kernels) \
  LAPTIME_FAMILY_##has_kernels(std::vector<Kernel> family##_kernels();)
#include "ops/op_list.inc"
#undef LAPTIME_OP_FAMILY

std::vector<Kernel> kernels_of_all_families() {
  std::vector<Kernel> kernels;
  const auto append = [&](std::vector<Kernel> more) {
    for (Kernel& kernel : more) kernels.push_back(std::move(kernel));
  };
#define LAPTIME_OP_FAMILY(family, has_kernels, has_cuda_kernels) \
  LAPTIME_FAMILY_##has_kernels(append(family##_kernels());)
#include "ops/op_list.inc"
#undef LAPTIME_OP_FAMILY
  return kernels;
}

}  // namespace laptime::LAPTIME_ISA
