// Layer normalisation: kernels against the references.
#include "ops/layer_norm/layer_norm.h"

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

std::vector<ConformanceCase> layer_norm_rows() {
  std::vector<ConformanceCase> rows;
  for (const Shape& shape : std::vector<Shape>{{7}, {5, 40}, {3, 4, 65}, {70, 96}, {2, 1100}, {3, 2051}}) {
    Shape one = shape;
    one[-1] = 1;
    // A row of one value has no variance: what is left of it is rounding alone.
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
                        .attributes = LayerNormBackwardAttributes{addend},
                        .inputs = inputs,
                        .arrangements = arrangements});
      }
    }
  }
  return rows;
}

LAPTIME_CONFORMANCE(LayerNorm, layer_norm_rows());

TEST(LayerNorm, Gradient) {
  expect_gradient({.op = &kLayerNorm,
                   .attributes = LayerNormAttributes{1e-5},
                   .inputs = {{.shape = {2, 3, 7}}, {.shape = {7}}, {.shape = {7}}}});
}

}  // namespace
}  // namespace laptime::test
