// Gather and scatter: kernels compared with the references bit for bit, and gradients.
#include "ops/gather/gather.h"

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

std::vector<ConformanceCase> gather_rows() {
  std::vector<ConformanceCase> rows;
  for (const Shape& shape : std::vector<Shape>{{1}, {9, 7}, {6, 20}, {3, 4, 65}, {1100, 5}, {2, 70001}}) {
    Shape one = shape;
    one[-1] = 1;
    const auto columns = static_cast<double>(shape.back());
    const Operand x{.shape = shape};
    const Operand grad{.shape = one};
    const Operand index{.shape = one, .values = Values::kIndices, .dtype = DType::kInt64, .bound = columns};
    rows.push_back({.op = &kGather, .inputs = {x, index}, .slack = 0});
    rows.push_back({.op = &kGatherBackward, .inputs = {grad, x, index}, .slack = 0});
    rows.push_back(
        {.op = &kScatter, .attributes = ScatterAttributes{shape.back()}, .inputs = {grad, index}, .slack = 0});
  }
  return rows;
}

LAPTIME_CONFORMANCE(Gather, gather_rows());

TEST(Gather, GradientMatchesFiniteDifferences) {
  const Operand index{.shape = {3, 4, 1}, .values = Values::kIndices, .dtype = DType::kInt64, .bound = 5};
  expect_gradient({.op = &kGather, .inputs = {{.shape = {3, 4, 5}}, index}});
}

}  // namespace
}  // namespace laptime::test
