// RMSNorm and layer norm: kernels compared with the references, gradients, and folded casts of the output.
#include "ops/norm/norm.h"

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

const std::vector<Shape> kRowShapes{{7}, {5, 40}, {3, 4, 65}, {70, 96}, {2, 1100}, {3, 2051}, {37, 264}};

std::vector<ConformanceCase> rms_norm_rows() {
  std::vector<ConformanceCase> rows;
  const RmsNormAttributes as_x{1e-5};
  const RmsNormAttributes narrow{1e-5, DType::kBFloat16};
  for (const Shape& shape : kRowShapes) {
    Shape one = shape;
    one[-1] = 1;
    const Operand x{.shape = shape};
    const Operand x32{.shape = shape, .dtype = DType::kFloat32};
    const Operand rstd{.shape = one, .values = Values::kPositive, .dtype = DType::kFloat32};
    const Operand weight{.shape = {shape.back()}};
    const Operand weight32{.shape = {shape.back()}, .dtype = DType::kFloat32};
    const std::vector<DType> bfloat16{DType::kBFloat16};  // types of the gradients or of y; x is float32
    rows.push_back({.op = &kRmsNorm, .attributes = as_x, .inputs = {x, weight}});
    rows.push_back({.op = &kRmsNorm, .attributes = narrow, .inputs = {x32, weight32}, .dtypes = bfloat16});
    for (const bool addend : {false, true}) {
      const NormBackwardAttributes attributes{addend};
      std::vector<Operand> alike{x, x, rstd, weight};
      std::vector<Operand> mixed{x, x32, rstd, weight32};
      if (addend) alike.push_back(x);
      if (addend) mixed.push_back(x32);
      rows.push_back({.op = &kRmsNormBackward, .attributes = attributes, .inputs = alike});
      rows.push_back({.op = &kRmsNormBackward, .attributes = attributes, .inputs = mixed, .dtypes = bfloat16});
    }
  }
  return rows;
}

LAPTIME_CONFORMANCE(RmsNorm, rms_norm_rows());

TEST(RmsNorm, GradientMatchesFiniteDifferences) {
  expect_gradient(
      {.op = &kRmsNorm, .attributes = RmsNormAttributes{1e-5}, .inputs = {{.shape = {2, 3, 7}}, {.shape = {7}}}});
}

// Both norms round their first output to the type that its readers cast to.
template <class Norm>
void expect_rounds_its_output(const OpCard& norm) {
  const Norm as_x{1e-5};
  std::vector<TensorType> in{contiguous_type(DType::kFloat32, {3, 4}), contiguous_type(DType::kFloat32, {4})};
  if (Norm::kCentred) in.push_back(in.back());
  const auto narrow = norm.fold_output_cast(as_x, 0, DType::kBFloat16);
  ASSERT_TRUE(narrow.has_value());
  EXPECT_EQ(narrow->text(), "eps=1e-05 y_dtype=bfloat16");
  EXPECT_EQ(norm.infer(*narrow, in)[0].dtype, DType::kBFloat16);
  EXPECT_EQ(norm.infer(*narrow, in)[1].dtype, DType::kFloat32);
  EXPECT_FALSE(norm.fold_output_cast(as_x, 1, DType::kBFloat16).has_value());
  EXPECT_FALSE(norm.fold_output_cast(*narrow, 0, DType::kFloat16).has_value());
  EXPECT_FALSE(norm.fold_output_cast(as_x, 0, DType::kFloat32).has_value());
}

TEST(RmsNorm, FoldsTheCastOfItsOutput) { expect_rounds_its_output<RmsNormAttributes>(kRmsNorm); }
TEST(LayerNorm, FoldsTheCastOfItsOutput) { expect_rounds_its_output<LayerNormAttributes>(kLayerNorm); }

std::vector<ConformanceCase> layer_norm_rows() {
  std::vector<ConformanceCase> rows;
  for (const Shape& shape : kRowShapes) {
    Shape one = shape;
    one[-1] = 1;
    // Broadcasting along the only axis is excluded, because the variance of equal elements consists of rounding errors.
    const std::vector<Arrangement>& arrangements = shape.rank() == 1 ? dense_arrangements() : all_arrangements();
    const Operand x{.shape = shape};
    const Operand mean{.shape = one, .dtype = DType::kFloat32};
    const Operand rstd{.shape = one, .values = Values::kPositive, .dtype = DType::kFloat32};
    const Operand weight{.shape = {shape.back()}};
    const Operand weight32{.shape = {shape.back()}, .dtype = DType::kFloat32};
    for (const Operand& w : {weight, weight32}) {
      rows.push_back({.op = &kLayerNorm,
                      .attributes = LayerNormAttributes{1e-5},
                      .inputs = {x, w, w},
                      .arrangements = arrangements});
      for (const bool addend : {false, true}) {
        std::vector<Operand> inputs{x, x, mean, rstd, w};
        if (addend) inputs.push_back(x);
        rows.push_back({.op = &kLayerNormBackward,
                        .attributes = NormBackwardAttributes{addend},
                        .inputs = inputs,
                        .arrangements = arrangements});
      }
    }
    // y and its gradient are bfloat16; all other tensors are float32.
    const std::vector<DType> bfloat16{DType::kBFloat16};
    const Operand x32{.shape = shape, .dtype = DType::kFloat32};
    rows.push_back({.op = &kLayerNorm,
                    .attributes = LayerNormAttributes{1e-5, DType::kBFloat16},
                    .inputs = {x32, weight32, weight32},
                    .dtypes = bfloat16,
                    .arrangements = arrangements});
    rows.push_back({.op = &kLayerNormBackward,
                    .attributes = NormBackwardAttributes{},
                    .inputs = {x, x32, mean, rstd, weight32},
                    .dtypes = bfloat16,
                    .arrangements = arrangements});
  }
  return rows;
}

LAPTIME_CONFORMANCE(LayerNorm, layer_norm_rows());

TEST(LayerNorm, GradientMatchesFiniteDifferences) {
  expect_gradient({.op = &kLayerNorm,
                   .attributes = LayerNormAttributes{1e-5},
                   .inputs = {{.shape = {2, 3, 7}}, {.shape = {7}}, {.shape = {7}}}});
}

}  // namespace
}  // namespace laptime::test
