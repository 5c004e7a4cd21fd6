// The kernels of CUDA devices, from every family of ops that has any.
#include "ops/kernels_cuda.h"

// The families, one per row. The kernels of a family are in <folder>/<folder>_cuda.h and .cpp.
#define LAPTIME_CUDA_FAMILIES(row)                                                                                     \
  row(copy) row(pointwise) row(reduce) row(matmul) row(stack) row(gather) row(embedding) row(gelu) row(relu) row(norm) \
      row(nll_loss) row(dropout) row(adamw) row(loss_scale) row(clip_grad_norm) row(softmax) row(cross_entropy)        \
          row(linear) row(linear_cross_entropy) row(rope) row(scaled_dot_product_attention) row(swiglu)

namespace laptime {

#define LAPTIME_DECLARE(family)           \
  namespace cuda {                        \
  std::vector<Kernel> family##_kernels(); \
  }
LAPTIME_CUDA_FAMILIES(LAPTIME_DECLARE)
#undef LAPTIME_DECLARE

std::vector<Kernel> cuda_kernels() {
  std::vector<Kernel> kernels;
  const auto append = [&](std::vector<Kernel> more) {
    for (Kernel& kernel : more) kernels.push_back(std::move(kernel));
  };
#define LAPTIME_APPEND(family) append(cuda::family##_kernels());
  LAPTIME_CUDA_FAMILIES(LAPTIME_APPEND)
#undef LAPTIME_APPEND
  return kernels;
}

}  // namespace laptime
