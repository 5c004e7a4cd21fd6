// Rotary position embedding: kernels compared with the references, gradients, the memory order of axes, and folded
// casts.
#include "ops/rope/rope.h"

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

constexpr RopeForm kForms[] = {RopeForm::kInterleaved, RopeForm::kHalves, RopeForm::kRotateHalf};

// Number of columns of the cos and sin tables if rows of `width` elements are rotated as a whole.
int64_t columns_for(RopeForm form, int64_t width) { return form == RopeForm::kRotateHalf ? width : width / 2; }

std::vector<ConformanceCase> rope_rows() {
  const std::vector<Shape> shapes{{1, 2}, {5, 6}, {3, 4, 34}, {2, 3, 5, 64}, {2, 2, 9, 80}, {2, 600, 8}, {3, 2050}};
  std::vector<ConformanceCase> rows;
  for (const OpCard* op : {&kRope, &kRopeBackward}) {
    for (const RopeForm form : kForms) {
      for (const Shape& shape : shapes) {
        const Shape angles{shape[-2], columns_for(form, shape.back())};
        const Operand x{.shape = shape};
        const Operand table{.shape = angles};
        const Operand table32{.shape = angles, .dtype = DType::kFloat32};
        rows.push_back({.op = op, .attributes = RopeAttributes{form}, .inputs = {x, table, table}});
        rows.push_back(
            {.op = op, .attributes = RopeAttributes{form, DType::kBFloat16}, .inputs = {x, table32, table32}});
      }
      const Operand x{.shape = {2, 3, 5, 64}};
      const Operand table{.shape = {5, columns_for(form, 64)}, .dtype = DType::kFloat32};
      rows.push_back({.op = op,
                      .attributes = RopeAttributes{form},
                      .inputs = {x, table, table},
                      .dtypes = {DType::kBFloat16, DType::kFloat16}});
    }
  }
  for (const Shape& shape : std::vector<Shape>{{2, 3, 5, 24}, {7, 300}, {2, 3, 5000}}) {
    for (const OpCard* op : {&kRope, &kRopeBackward}) {
      const Operand table{.shape = {shape[-2], shape.back() / 4 / 2 * 2}};
      rows.push_back(
          {.op = op, .attributes = RopeAttributes{RopeForm::kRotateHalf}, .inputs = {{.shape = shape}, table, table}});
    }
  }
  for (const int64_t positions : {1, 700}) {
    rows.push_back({.op = &kRopeTable,
                    .attributes = RopeTableAttributes{.context_length = positions,
                                                      .d_head = 64,
                                                      .theta = 500'000,
                                                      .repeated = true,
                                                      .scaling = {.factor = 8, .original_context = 64}},
                    .dtypes = {DType::kFloat32},
                    .arrangements = {Arrangement::kContiguous}});
    rows.push_back({.op = &kRopeTable,
                    .attributes = RopeTableAttributes{positions, 34},
                    .dtypes = {DType::kFloat32},
                    .arrangements = {Arrangement::kContiguous}});
  }
  return rows;
}

LAPTIME_CONFORMANCE(Rope, rope_rows());

TEST(Rope, GradientMatchesFiniteDifferences) {
  for (const RopeForm form : kForms) {
    const Operand table{.shape = {3, columns_for(form, 8)}, .dtype = DType::kFloat32};
    expect_gradient(
        {.op = &kRope, .attributes = RopeAttributes{form}, .inputs = {{.shape = {2, 2, 3, 8}}, table, table}});
  }
}

TEST(Rope, GradientOfPartialRotationMatchesFiniteDifferences) {
  const Operand table{.shape = {3, 6}, .dtype = DType::kFloat32};
  expect_gradient({.op = &kRope,
                   .attributes = RopeAttributes{RopeForm::kRotateHalf},
                   .inputs = {{.shape = {2, 2, 3, 10}}, table, table}});
}

TEST(Rope, KeepsTheMemoryOrderOfAxes) {
  const TensorType x{DType::kBFloat16, permuted(Layout::contiguous({2, 5, 3, 8}), {0, 2, 1, 3})};
  const TensorType table = contiguous_type(DType::kFloat32, {5, 4});
  const std::vector<TensorType> in{x, table, table};
  const TensorType y = kRope.infer(RopeAttributes{}, in)[0];
  EXPECT_EQ(y.layout, x.layout);
  EXPECT_EQ(y.dtype, DType::kFloat32);
}

TEST(Rope, FoldsCastsOfInputAndOutput) {
  const RopeAttributes open{};
  const auto read = kRope.fold_input_cast(open, 0, DType::kFloat32);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->text(), "form=interleaved y_dtype=float32");
  const auto narrow = kRope.fold_output_cast(*read, 0, DType::kBFloat16);
  ASSERT_TRUE(narrow.has_value());
  EXPECT_EQ(narrow->text(), "form=interleaved y_dtype=bfloat16");
  EXPECT_FALSE(kRope.fold_input_cast(open, 1, DType::kFloat32).has_value());
  EXPECT_FALSE(kRope.fold_input_cast(open, 0, DType::kBFloat16).has_value());
}

}  // namespace
}  // namespace laptime::test
