// The clipping coefficient: the kernel compared with the reference.
#include "ops/clip_grad_norm/clip_grad_norm.h"

#include "support/conformance.h"

namespace laptime::test {
namespace {

std::vector<ConformanceCase> clip_grad_norm_rows() {
  std::vector<ConformanceCase> rows;
  for (const double norm : {0.0, 0.3, 0.5, 17.0, 1e30}) {
    rows.push_back({.op = &kClipCoefficient,
                    .attributes = ClipAttributes{0.5},
                    .inputs = {{.shape = {}, .values = Values::kConstant, .bound = norm}},
                    .dtypes = {DType::kFloat32},
                    .arrangements = {Arrangement::kContiguous}});
  }
  return rows;
}

LAPTIME_CONFORMANCE(ClipGradNorm, clip_grad_norm_rows());

}  // namespace
}  // namespace laptime::test
