// GELU: kernels against the references.
#include "ops/gelu/gelu.h"

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

std::vector<ConformanceCase> gelu_rows(bool tanh) {
  const GeluAttributes attributes{tanh};
  const Operand x{.shape = {}};
  const Operand extreme{.shape = {5, 211}, .values = Values::kExtreme};
  const std::vector<Arrangement> few{Arrangement::kContiguous, Arrangement::kStrided};
  return joined({
      over_shapes({.op = &kGelu, .attributes = attributes, .inputs = {x}}, pointwise_shapes()),
      over_shapes({.op = &kGeluBackward, .attributes = attributes, .inputs = {x, x}}, pointwise_shapes()),
      {{.op = &kGelu, .attributes = attributes, .inputs = {extreme}, .arrangements = few},
       {.op = &kGeluBackward, .attributes = attributes, .inputs = {{.shape = {5, 211}}, extreme}, .arrangements = few}},
  });
}

LAPTIME_CONFORMANCE(GeluErf, gelu_rows(false));
LAPTIME_CONFORMANCE(GeluTanh, gelu_rows(true));

TEST(Gelu, Gradient) {
  for (const bool tanh : {false, true}) {
    expect_gradient({.op = &kGelu, .attributes = GeluAttributes{tanh}, .inputs = {{.shape = {4, 9}}}});
  }
}

}  // namespace
}  // namespace laptime::test
