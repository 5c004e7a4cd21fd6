// The loops that a launch of a kernel would run on a number of threads, found without running them.
#pragma once

#include <vector>

#include "backend/kernel.h"
#include "backend/launch_loop.h"

namespace laptime::cpu {

// Launches the kernel on a team that runs no loop. What the kernel does outside of its loops runs, on operands that
// hold zeros and take no memory until they are written. Empty where all of the work is outside of loops.
std::vector<LaunchLoop> loops_of_launch(const Kernel& kernel, const Signature& signature, int threads);

}  // namespace laptime::cpu
