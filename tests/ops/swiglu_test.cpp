// SwiGLU gate: kernels against the references.
#include "ops/swiglu/swiglu.h"

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

std::vector<ConformanceCase> swiglu_rows() {
  const Operand x{.shape = {}};
  const Operand plain{.shape = {5, 211}};
  const Operand extreme{.shape = {5, 211}, .values = Values::kExtreme};
  const Operand wide{.shape = {5, 211}, .dtype = DType::kFloat32};
  const std::vector<Arrangement> few{Arrangement::kContiguous, Arrangement::kStrided};
  return joined({
      over_shapes({.op = &kSwiglu, .inputs = {x, x}}, pointwise_shapes()),
      over_shapes({.op = &kSwigluBackward, .inputs = {x, x, x}}, pointwise_shapes()),
      {{.op = &kSwiglu, .inputs = {extreme, plain}, .arrangements = few},
       {.op = &kSwiglu, .inputs = {plain, extreme}, .arrangements = few},
       {.op = &kSwigluBackward, .inputs = {plain, extreme, plain}, .arrangements = few},
       {.op = &kSwigluBackward, .inputs = {wide, plain, plain}, .dtypes = {DType::kBFloat16}}},
  });
}

LAPTIME_CONFORMANCE(Swiglu, swiglu_rows());

TEST(Swiglu, Gradient) { expect_gradient({.op = &kSwiglu, .inputs = {{.shape = {4, 9}}, {.shape = {4, 9}}}}); }

}  // namespace
}  // namespace laptime::test
