// Keeps oneDNN, which would start OpenMP threads of its own, on the calling thread.
#pragma once

namespace laptime::cpu {

// From now on, OpenMP parallel regions that the calling thread enters run on it alone.
void use_one_openmp_thread();

}  // namespace laptime::cpu
