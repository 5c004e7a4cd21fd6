// The kernels of the CPU backend: the kernels of all op families for one instruction set, then the reference kernels.
#pragma once

#include <vector>

#include "backend/kernel.h"
#include "base/isa.h"

namespace laptime {

// Kernels of an op are in order of preference. `isa` must be one of cpu::runnable_isas().
std::vector<Kernel> cpu_kernels(cpu::Isa isa);

}  // namespace laptime
