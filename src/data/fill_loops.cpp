// Selects the loops for an instruction set.
#include "data/fill_loops.h"

#include "base/error.h"

namespace laptime {

FillLoops fill_loops_of(cpu::Isa isa) {
#define LAPTIME_ISA_ROW(name) \
  if (cpu::name_of(isa) == #name) return name::fill_loops();
#include <isas.inc>
#undef LAPTIME_ISA_ROW
  LAPTIME_CHECK(false, "no loops are compiled for {}", cpu::name_of(isa));
  return {};
}

const FillLoops& fill_loops() {
  static const FillLoops kLoops = fill_loops_of(cpu::widest_isa());
  return kLoops;
}

}  // namespace laptime
