// Logarithm of the softmax: kernels against the references.
#include "ops/log_softmax/log_softmax.h"

#include <limits>

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

std::vector<ConformanceCase> log_softmax_rows() {
  const std::vector<Shape> shapes{{1}, {5, 7}, {3, 4, 65}, {33, 64}, {2, 1100}, {3, 5003}, {1200, 3}};
  const Operand x{.shape = {}};
  std::vector<ConformanceCase> rows = joined({
      over_shapes({.op = &kLogSoftmax, .inputs = {x}, .absolute = 4}, shapes),
      over_shapes({.op = &kLogSoftmaxBackward, .inputs = {x, x}}, shapes),
  });
  for (const double value : {0.0, 80.0, -std::numeric_limits<double>::infinity()}) {
    rows.push_back({.op = &kLogSoftmax, .inputs = {{.shape = {3, 70}, .values = Values::kConstant, .bound = value}}});
  }
  rows.push_back({.op = &kLogSoftmax, .inputs = {{.shape = {300, 9}, .values = Values::kRare}}, .absolute = 4});
  return rows;
}

LAPTIME_CONFORMANCE(LogSoftmax, log_softmax_rows());

TEST(LogSoftmax, Gradient) { expect_gradient({.op = &kLogSoftmax, .inputs = {{.shape = {4, 9}}}}); }

}  // namespace
}  // namespace laptime::test
