// The two calls of the OpenMP runtime that oneDNN links. Declared here: a header comes with a compiler's own OpenMP,
// which may be another one.
#include "backend/cpu/openmp.h"

extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}

namespace laptime::cpu {

void use_one_openmp_thread() {
  if (omp_get_max_threads() != 1) omp_set_num_threads(1);
}

}  // namespace laptime::cpu
