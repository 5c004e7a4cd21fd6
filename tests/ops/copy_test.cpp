// Copies, casts, fills and slices: kernels compared with the references, and gradients.
#include "ops/copy/copy.h"

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

const std::vector<DType> kMoved{DType::kFloat32, DType::kBFloat16, DType::kInt64, DType::kBool, DType::kFloat64};
const std::vector<Shape> kShapes{{}, {1}, {5, 3}, {64, 65}, {100, 333}, {2, 3, 40, 16}, {3, 2, 1, 9, 33}, {4, 70000}};

std::vector<ConformanceCase> contiguous_rows() {
  return over_shapes({.op = &kContiguous, .inputs = {{.shape = {}}}, .dtypes = kMoved, .slack = 0}, kShapes);
}

std::vector<ConformanceCase> assign_rows() {
  std::vector<ConformanceCase> rows = over_shapes(
      {.op = &kAssign, .inputs = {{.shape = {}}, {.shape = {}}}, .arrangements = dense_arrangements(), .slack = 0},
      {{}, {33, 65}, {2, 5, 7}});
  const std::vector<ConformanceCase> converted =
      over_shapes({.op = &kAssign,
                   .inputs = {{.shape = {}}, {.shape = {}, .dtype = DType::kFloat32}},
                   .arrangements = dense_arrangements(),
                   .slack = 0},
                  {{33, 65}});
  return joined({rows, converted});
}

std::vector<ConformanceCase> cast_rows() {
  const std::vector<DType> all{DType::kFloat32, DType::kBFloat16, DType::kFloat16, DType::kInt64,
                               DType::kInt32,   DType::kBool,     DType::kFloat64};
  std::vector<ConformanceCase> rows;
  for (const DType to : all) {
    for (const Shape& shape : std::vector<Shape>{{}, {17, 33}, {3, 1100}}) {
      rows.push_back(
          {.op = &kCast, .attributes = CastAttributes{to}, .inputs = {{.shape = shape}}, .dtypes = all, .slack = 0});
    }
  }
  for (const DType to : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    rows.push_back({.op = &kCast,
                    .attributes = CastAttributes{to},
                    .inputs = {{.shape = {700, 3}, .values = Values::kExtreme}},
                    .dtypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat16},
                    .slack = 0});
  }
  return rows;
}

std::vector<ConformanceCase> fill_rows() {
  std::vector<ConformanceCase> rows;
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt64, DType::kBool, DType::kFloat64}) {
    for (const Shape& shape : std::vector<Shape>{{}, {7}, {3, 70000}}) {
      rows.push_back({.op = &kFill,
                      .attributes = FillAttributes{shape, 1.7, dtype},
                      .dtypes = {dtype},
                      .arrangements = {Arrangement::kContiguous},
                      .slack = 0});
    }
  }
  return rows;
}

std::vector<ConformanceCase> slice_backward_rows() {
  struct Window {
    Shape from;
    int axis;
    int64_t begin, size, step;
  };
  const std::vector<Window> windows{
      {{3, 4, 64}, 2, 0, 32, 2},  {{3, 4, 64}, 2, 1, 32, 2}, {{5, 2}, 1, 1, 1, 2},        {{2, 9}, 1, 1, 4, 2},
      {{2, 3000}, 1, 0, 1500, 2}, {{12, 5}, 0, 3, 6, 1},     {{4, 33, 7}, 1, 2, 10, 3},   {{600, 40}, 1, 8, 17, 1},
      {{9}, 0, 2, 3, 1},          {{12, 1100}, 0, 3, 6, 1},  {{3, 5, 2, 40}, 1, 2, 2, 1},
  };
  std::vector<ConformanceCase> rows;
  for (const Window& window : windows) {
    Shape shape = window.from;
    shape[window.axis] = window.size;
    rows.push_back({.op = &kSliceBackward,
                    .attributes = SliceBackwardAttributes{window.from, window.axis, window.begin, window.step},
                    .inputs = {{.shape = shape}},
                    .dtypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat64},
                    .slack = 0});
    ConformanceCase adds = rows.back();
    adds.attributes = SliceBackwardAttributes{window.from, window.axis, window.begin, window.step, true};
    adds.inputs.push_back({.shape = window.from});
    adds.dtypes = {DType::kFloat32, DType::kBFloat16};
    adds.slack = 3;
    rows.push_back(adds);
    ConformanceCase widens = rows[rows.size() - 2];
    widens.attributes =
        SliceBackwardAttributes{window.from, window.axis, window.begin, window.step, false, DType::kFloat32};
    widens.dtypes = {DType::kBFloat16};
    rows.push_back(widens);
  }
  return rows;
}

LAPTIME_CONFORMANCE(Contiguous, contiguous_rows());
LAPTIME_CONFORMANCE(Assign, assign_rows());
LAPTIME_CONFORMANCE(Cast, cast_rows());
LAPTIME_CONFORMANCE(Fill, fill_rows());
LAPTIME_CONFORMANCE(SliceBackward, slice_backward_rows());

TEST(Copy, GradientsMatchFiniteDifferences) {
  const Operand x{.shape = {3, 4}};
  expect_gradient({.op = &kReshape, .attributes = ReshapeAttributes{{2, 6}}, .inputs = {x}});
  expect_gradient({.op = &kPermute, .attributes = PermuteAttributes{{1, 0}}, .inputs = {x}});
  expect_gradient({.op = &kExpand, .attributes = ReshapeAttributes{{2, 3, 4}}, .inputs = {x}});
  expect_gradient({.op = &kSlice, .attributes = SliceAttributes{1, 1, 2, 2}, .inputs = {x}});
  expect_gradient({.op = &kContiguous, .inputs = {x}});
  expect_gradient({.op = &kCast, .attributes = CastAttributes{DType::kFloat64}, .inputs = {x}});
}

}  // namespace
}  // namespace laptime::test
