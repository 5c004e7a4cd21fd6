// Keeps oneDNN on the calling thread. Otherwise it would start its own OpenMP threads.
#pragma once

namespace laptime::cpu {

// From now on, OpenMP parallel regions that the calling thread enters run only on this thread.
void use_one_openmp_thread();

}  // namespace laptime::cpu
