// Determines which loops a launch of a kernel would run on a given number of threads, without running the loops.
#pragma once

#include <vector>

#include "backend/kernel.h"
#include "backend/launch_loop.h"

namespace laptime::cpu {

// Launches the kernel on a team that records loops instead of running them. Code outside of loops does run, on operands
// that are zero and take no memory until they are written. Returns an empty vector if all work is outside of loops.
// Throws Error if the operands do not fit into the address space.
std::vector<LaunchLoop> loops_of_launch(const Kernel& kernel, const Signature& signature, int threads);

}  // namespace laptime::cpu
