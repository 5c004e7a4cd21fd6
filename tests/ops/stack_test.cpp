// Stack and concat: kernels compared with the references bit for bit, and gradients.
#include "ops/stack/stack.h"

#include <tuple>

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

std::vector<ConformanceCase> stack_rows() {
  const std::vector<std::pair<Shape, int>> stacks{
      {{}, 0},         {{5}, 0},          {{5}, 1},    {{3, 4, 32}, 3},   {{3, 4, 32}, 2},
      {{3, 4, 32}, 0}, {{2, 3, 5, 9}, 4}, {{7, 1}, 2}, {{2, 3, 5, 9}, 1}, {{40, 1050}, 2}};
  std::vector<ConformanceCase> rows;
  rows.reserve(stacks.size());
  for (const auto& [shape, axis] : stacks) {
    rows.push_back({.op = &kStack,
                    .attributes = StackAttributes{axis},
                    .inputs = {{.shape = shape}, {.shape = shape}},
                    .dtypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat64},
                    .slack = 0});
  }
  return rows;
}

LAPTIME_CONFORMANCE(Stack, stack_rows());

TEST(Stack, GradientMatchesFiniteDifferences) {
  for (const int axis : {0, 1, 2}) {
    expect_gradient(
        {.op = &kStack, .attributes = StackAttributes{axis}, .inputs = {{.shape = {3, 4}}, {.shape = {3, 4}}}});
  }
}

std::vector<ConformanceCase> concat_rows() {
  std::vector<ConformanceCase> rows;
  for (const auto& [axis, a, b] :
       std::vector<std::tuple<int, Shape, Shape>>{{0, {3}, {5}}, {1, {4, 6}, {4, 1}}, {2, {2, 3, 18}, {2, 3, 14}}}) {
    rows.push_back(
        {.op = &kConcat, .attributes = ConcatAttributes{axis}, .inputs = {{.shape = a}, {.shape = b}}, .slack = 0});
  }
  return rows;
}

LAPTIME_CONFORMANCE(Concat, concat_rows());

TEST(Concat, GradientMatchesFiniteDifferences) {
  expect_gradient(
      {.op = &kConcat, .attributes = ConcatAttributes{1}, .inputs = {{.shape = {3, 4}}, {.shape = {3, 2}}}});
}

}  // namespace
}  // namespace laptime::test
