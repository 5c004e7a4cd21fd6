// ReLU: kernels against the references.
#include "ops/relu/relu.h"

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

std::vector<ConformanceCase> relu_rows() {
  const Operand x{.shape = {}};
  const Operand extreme{.shape = {5, 211}, .values = Values::kExtreme};
  return joined({
      over_shapes({.op = &kRelu, .inputs = {x}, .slack = 0}, pointwise_shapes()),
      over_shapes({.op = &kReluBackward, .inputs = {x, x}, .slack = 0}, pointwise_shapes()),
      {{.op = &kRelu, .inputs = {extreme}, .arrangements = {Arrangement::kContiguous}, .slack = 0}},
  });
}

LAPTIME_CONFORMANCE(Relu, relu_rows());

TEST(Relu, Gradient) { expect_gradient({.op = &kRelu, .inputs = {{.shape = {4, 9}}}}); }

}  // namespace
}  // namespace laptime::test
