// The kernels of the CPU backend: those of every family for one instruction set, then the references.
#pragma once

#include <vector>

#include "backend/kernel.h"
#include "base/isa.h"

namespace laptime {

// In order of preference for each op. `isa` must be one of cpu::runnable_isas().
std::vector<Kernel> cpu_kernels(cpu::Isa isa);

}  // namespace laptime
