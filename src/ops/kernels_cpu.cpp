// The kernels of the instruction set that is asked for, and every reference.
#include "ops/kernels_cpu.h"

#include "ops/registry.h"

#define LAPTIME_ISA_ROW(isa)                     \
  namespace laptime::isa {                       \
  std::vector<Kernel> kernels_of_all_families(); \
  }
#include <isas.inc>
#undef LAPTIME_ISA_ROW

namespace laptime {
namespace {

std::vector<Kernel> kernels_of(std::string_view wanted) {
#define LAPTIME_ISA_ROW(isa) \
  if (wanted == #isa) return isa::kernels_of_all_families();
#include <isas.inc>
#undef LAPTIME_ISA_ROW
  LAPTIME_CHECK(false, "no kernels are compiled for {}", wanted);
  return {};
}

}  // namespace

std::vector<Kernel> cpu_kernels(cpu::Isa isa) {
  std::vector<Kernel> kernels = kernels_of(name_of(isa));
  for (const OpCard* op : all_ops()) {
    if (op->reference != nullptr) kernels.push_back(reference_kernel(*op));
  }
  return kernels;
}

}  // namespace laptime
