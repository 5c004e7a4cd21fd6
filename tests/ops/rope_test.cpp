// Rotary position embedding: kernels compared with the references, gradients, the memory order of axes, threads that
// rotate several rows, and folded casts.
#include "ops/rope/rope.h"

#include <array>

#include "ops/kernels_cuda.h"
#include "support/conformance.h"
#include "support/conformance_point.h"
#include "support/cuda/host_queue.h"
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

// Runs the CUDA kernel and returns y. The heads of a position are adjacent in the memory of x [2, heads, positions,
// d_head] if `heads_together`; otherwise the positions of a head are adjacent.
GuardedTensor rotated(const OpCard& op, RopeForm form, DType dtype, const Shape& x_shape, int64_t table_columns,
                      bool heads_together) {
  const Layout together = permuted(Layout::contiguous({x_shape[0], x_shape[2], x_shape[1], x_shape[3]}), {0, 2, 1, 3});
  const TensorType table = contiguous_type(DType::kFloat32, {x_shape[2], table_columns});
  const std::vector<TensorType> types{{dtype, heads_together ? together : Layout::contiguous(x_shape)}, table, table};
  std::vector<GuardedTensor> inputs;
  for (const TensorType& type : types) {
    inputs.emplace_back(type).fill({.shape = type.shape()}, inputs.size());
  }
  const RopeAttributes attributes{form, dtype};
  GuardedTensor y(op.infer(attributes, types)[0]);
  HostQueue queue({.turns = Turns::kForward, .checked = false});
  const std::vector<TensorView> in = views_of(inputs);
  const std::array<TensorView, 1> out{y.view()};
  for (const Kernel& kernel : cuda_kernels()) {
    if (kernel.op == &op) kernel.launch({.op = op, .attributes = attributes, .in = in, .out = out, .queue = queue});
  }
  EXPECT_TRUE(y.guards_intact());
  return y;
}

// Threads rotate several heads of a position if there are enough rows. 19 heads leave a smaller group at the end.
TEST(Rope, SlowRotatingSeveralHeadsPerThreadGivesTheSameBits) {
  struct Case {
    const OpCard* op;
    RopeForm form;
    DType dtype;
    int64_t d_head, table_columns;
  };
  for (const Case& c : std::vector<Case>{{&kRope, RopeForm::kInterleaved, DType::kBFloat16, 16, 8},
                                         {&kRope, RopeForm::kHalves, DType::kBFloat16, 16, 8},
                                         {&kRopeBackward, RopeForm::kHalves, DType::kFloat16, 16, 8},
                                         {&kRope, RopeForm::kRotateHalf, DType::kBFloat16, 24, 16},
                                         {&kRopeBackward, RopeForm::kInterleaved, DType::kFloat32, 16, 8}}) {
    const Shape x{2, 19, 3460, c.d_head};
    GuardedTensor one_by_one = rotated(*c.op, c.form, c.dtype, x, c.table_columns, false);
    GuardedTensor in_groups = rotated(*c.op, c.form, c.dtype, x, c.table_columns, true);
    const TensorView a = one_by_one.view();
    const TensorView b = in_groups.view();
    int64_t different = 0;
    for (int64_t i = 0; i < a.numel(); ++i) different += a.at(i) == b.at(i) ? 0 : 1;
    EXPECT_EQ(different, 0) << c.op->name << ", form " << static_cast<int>(c.form);
  }
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
