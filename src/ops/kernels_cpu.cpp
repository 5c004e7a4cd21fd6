// Collects the kernels of one instruction set, selected by name, and all reference kernels.
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

std::vector<Kernel> kernels_for(std::string_view isa_name) {
#define LAPTIME_ISA_ROW(isa) \
  if (isa_name == #isa) return isa::kernels_of_all_families();
#include <isas.inc>
#undef LAPTIME_ISA_ROW
  LAPTIME_CHECK(false, "no kernels are compiled for {}", isa_name);
  return {};
}

}  // namespace

std::vector<Kernel> cpu_kernels(cpu::Isa isa) {
  std::vector<Kernel> kernels = kernels_for(name_of(isa));
  for (const OpCard* op : all_ops()) {
    if (op->reference != nullptr) kernels.push_back(reference_kernel(*op));
  }
  return kernels;
}

}  // namespace laptime
