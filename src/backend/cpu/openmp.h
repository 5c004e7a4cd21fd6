// OpenMP is how oneDNN would make threads of its own; ours ask it not to.
#pragma once

namespace laptime::cpu {

// From now on parallel regions that the calling thread meets run on it alone.
void use_one_openmp_thread();

}  // namespace laptime::cpu
