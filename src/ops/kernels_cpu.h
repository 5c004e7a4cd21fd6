// The kernels of the CPU backend: those of every op family for one instruction set, followed by the references.
#pragma once

#include <vector>

#include "backend/kernel.h"
#include "base/isa.h"

namespace laptime {

// Kernels of an op are in order of preference. `isa` must be one of cpu::runnable_isas().
std::vector<Kernel> cpu_kernels(cpu::Isa isa);

}  // namespace laptime
