// Softmax and log_softmax: kernels compared with the references, and gradients.
#include "ops/softmax/softmax.h"

#include <limits>

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

const std::vector<Shape> kSoftmaxShapes{{1}, {5, 7}, {3, 4, 65}, {33, 64}, {2, 1100}, {3, 5003}, {1200, 3}};

std::vector<ConformanceCase> softmax_rows() {
  const Operand x{.shape = {}};
  std::vector<ConformanceCase> rows = joined({
      over_shapes({.op = &kSoftmax, .inputs = {x}}, kSoftmaxShapes),
      over_shapes({.op = &kSoftmaxBackward, .inputs = {x, x}}, kSoftmaxShapes),
  });
  for (const double value : {0.0, 80.0, -std::numeric_limits<double>::infinity()}) {
    rows.push_back({.op = &kSoftmax, .inputs = {{.shape = {3, 70}, .values = Values::kConstant, .bound = value}}});
  }
  // Weights below 2^-125 may be 0.
  rows.push_back({.op = &kSoftmax, .inputs = {{.shape = {300, 9}, .values = Values::kRare}}, .absolute = 1});
  return rows;
}

LAPTIME_CONFORMANCE(Softmax, softmax_rows());

TEST(Softmax, GradientMatchesFiniteDifferences) { expect_gradient({.op = &kSoftmax, .inputs = {{.shape = {4, 9}}}}); }

std::vector<ConformanceCase> log_softmax_rows() {
  const Operand x{.shape = {}};
  std::vector<ConformanceCase> rows = joined({
      over_shapes({.op = &kLogSoftmax, .inputs = {x}, .absolute = 4}, kSoftmaxShapes),
      over_shapes({.op = &kLogSoftmaxBackward, .inputs = {x, x}}, kSoftmaxShapes),
  });
  for (const double value : {0.0, 80.0, -std::numeric_limits<double>::infinity()}) {
    rows.push_back({.op = &kLogSoftmax, .inputs = {{.shape = {3, 70}, .values = Values::kConstant, .bound = value}}});
  }
  rows.push_back({.op = &kLogSoftmax, .inputs = {{.shape = {300, 9}, .values = Values::kRare}}, .absolute = 4});
  return rows;
}

LAPTIME_CONFORMANCE(LogSoftmax, log_softmax_rows());

TEST(LogSoftmax, GradientMatchesFiniteDifferences) {
  expect_gradient({.op = &kLogSoftmax, .inputs = {{.shape = {4, 9}}}});
}

}  // namespace
}  // namespace laptime::test
