// Keeps oneDNN on the calling thread. By default, oneDNN would start OpenMP threads of its own.
#pragma once

namespace laptime::cpu {

// Makes all OpenMP parallel regions that the calling thread enters from now on run on this thread only.
void use_one_openmp_thread();

}  // namespace laptime::cpu
