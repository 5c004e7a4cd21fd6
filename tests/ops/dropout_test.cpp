// Dropout: kernels compared with the references, the share of zeros, and gradients.
#include "ops/dropout/dropout.h"

#include <utility>

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

std::vector<ConformanceCase> dropout_rows() {
  std::vector<ConformanceCase> rows;
  for (const Shape& shape : std::vector<Shape>{{}, {7}, {3, 5, 65}, {2, 1100}, {70, 999}}) {
    for (const auto& [p, first] : {std::pair{0.0, 0}, {0.1, 0}, {0.1, 1000003}, {0.5, 0}, {1.0, 0}}) {
      const DropoutAttributes attributes{p, 42, 0xFEDCBA9876543210ULL, first};
      const Operand x{.shape = shape};
      const Operand step{.shape = {}, .values = Values::kConstant, .dtype = DType::kInt64, .bound = 3};
      const Operand mask{.shape = shape, .values = Values::kIndices, .dtype = DType::kBool, .bound = 2};
      rows.push_back({.op = &kDropout, .attributes = attributes, .inputs = {x, step}, .may_refuse = kGaps});
      rows.push_back({.op = &kDropoutBackward, .attributes = attributes, .inputs = {x, mask}});
    }
  }
  return rows;
}

LAPTIME_CONFORMANCE(Dropout, dropout_rows());

TEST(Dropout, ZeroesTheRequestedFraction) {
  for (const double p : {0.1, 0.5, 0.9}) {
    const TensorType type = contiguous_type(DType::kFloat32, {100000});
    GuardedTensor x(type);
    x.fill({.shape = type.shape(), .values = Values::kPositive}, 1);
    GuardedTensor step(contiguous_type(DType::kInt64, {}));
    step.fill({.shape = {}, .values = Values::kConstant, .bound = 1}, 1);
    GuardedTensor y(type);
    GuardedTensor mask(contiguous_type(DType::kBool, type.shape()));
    const TensorView in[] = {x.view(), step.view()};
    const TensorView out[] = {y.view(), mask.view()};
    kDropout.reference({DropoutAttributes{p, 7, 9}, in, out});
    int64_t zeros = 0;
    for (int64_t i = 0; i < type.numel(); ++i) zeros += out[1].at(i) == 0 ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(zeros) / static_cast<double>(type.numel()), p, 0.005);
  }
}

TEST(Dropout, GradientMatchesFiniteDifferences) {
  const Operand step{.shape = {}, .values = Values::kConstant, .dtype = DType::kInt64, .bound = 3};
  expect_gradient({.op = &kDropout, .attributes = DropoutAttributes{0.4, 1, 2}, .inputs = {{.shape = {5, 8}}, step}});
}

}  // namespace
}  // namespace laptime::test
