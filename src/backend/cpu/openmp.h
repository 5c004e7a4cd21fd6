// Keeps oneDNN on the calling thread. By default, it would start its own OpenMP threads.
#pragma once

namespace laptime::cpu {

// Makes all OpenMP parallel regions that the calling thread enters from now on run on this thread only.
void use_one_openmp_thread();

}  // namespace laptime::cpu
