// Calls the OpenMP runtime that oneDNN is linked to. The functions are declared here because <omp.h> belongs to the
// compiler's runtime, which may be a different one.
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
