// Cross entropy: kernels compared with the references, gradients, and folded casts.
#include "ops/cross_entropy/cross_entropy.h"

#include <limits>

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

// Arrangements in which the targets or log_sum_exp need not be contiguous.
const std::vector<Arrangement> kCrossEntropyGaps{Arrangement::kReversed,  Arrangement::kTransposed,
                                                 Arrangement::kStrided,   Arrangement::kPadded,
                                                 Arrangement::kBroadcast, Arrangement::kMixed};

Operand targets_of(const Shape& logits) {
  Shape shape = logits;
  shape.erase(shape.rank() - 1);
  return {
      .shape = shape, .values = Values::kIndices, .dtype = DType::kInt64, .bound = static_cast<double>(logits.back())};
}

std::vector<ConformanceCase> cross_entropy_rows() {
  std::vector<ConformanceCase> rows;
  const Operand grad{.shape = {}, .dtype = DType::kFloat32};
  for (const Shape& shape : std::vector<Shape>{{1, 1}, {7, 5}, {3, 4, 65}, {64, 97}, {1200, 10}, {3, 5003}}) {
    const Operand logits{.shape = shape};
    const Operand targets = targets_of(shape);
    const Operand log_sum_exp{.shape = targets.shape, .dtype = DType::kFloat64};
    rows.push_back({.op = &kCrossEntropy,
                    .attributes = CrossEntropyAttributes{},
                    .inputs = {logits, targets},
                    .may_refuse = kCrossEntropyGaps,
                    .absolute = 4});
    rows.push_back({.op = &kCrossEntropyBackward,
                    .attributes = CrossEntropyBackwardAttributes{},
                    .inputs = {grad, logits, targets, log_sum_exp},
                    .may_refuse = kCrossEntropyGaps});
  }
  for (const Shape& shape : std::vector<Shape>{{7, 5}, {3, 4, 65}, {3, 1003}}) {
    const Operand targets = targets_of(shape);
    const Operand log_sum_exp{.shape = targets.shape, .dtype = DType::kFloat64};
    for (const Arrangement arrangement : {Arrangement::kContiguous, Arrangement::kAlignedRows}) {
      rows.push_back({.op = &kCrossEntropyBackward,
                      .attributes = CrossEntropyBackwardAttributes{.padded = true},
                      .inputs = {grad, {.shape = shape}, targets, log_sum_exp},
                      .arrangements = {arrangement},
                      .may_refuse = {Arrangement::kAlignedRows}});
    }
    rows.push_back({.op = &kCrossEntropy,
                    .attributes = CrossEntropyAttributes{},
                    .inputs = {{.shape = shape}, targets},
                    .arrangements = {Arrangement::kAlignedRows},
                    .may_refuse = {Arrangement::kAlignedRows},
                    .absolute = 4});
  }
  const Shape shape{9, 211};
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    rows.push_back({.op = &kCrossEntropyBackward,
                    .attributes = CrossEntropyBackwardAttributes{dtype},
                    .inputs = {grad, {.shape = shape}, targets_of(shape), {.shape = {9}, .dtype = DType::kFloat64}},
                    .arrangements = {Arrangement::kContiguous}});
  }
  // Rows of equal logits, including -200, whose exponential underflows to 0 in float32.
  for (const Shape& equal : std::vector<Shape>{shape, {7, 5}, {3, 5003}}) {
    for (const double value : {0.0, 80.0, -200.0, -std::numeric_limits<double>::infinity()}) {
      rows.push_back({.op = &kCrossEntropy,
                      .attributes = CrossEntropyAttributes{},
                      .inputs = {{.shape = equal, .values = Values::kConstant, .bound = value}, targets_of(equal)},
                      .arrangements = {Arrangement::kContiguous},
                      .absolute = 4});
    }
  }
  return rows;
}

LAPTIME_CONFORMANCE(CrossEntropy, cross_entropy_rows());

TEST(CrossEntropy, GradientMatchesFiniteDifferences) {
  for (const Shape& shape : std::vector<Shape>{{6, 5}, {2, 3, 4}}) {
    expect_gradient({.op = &kCrossEntropy,
                     .attributes = CrossEntropyAttributes{},
                     .inputs = {{.shape = shape}, targets_of(shape)}});
  }
}

TEST(CrossEntropy, FoldsCastsOfLogitsAndTheirGradient) {
  EXPECT_TRUE(kCrossEntropy.fold_input_cast(CrossEntropyAttributes{}, 0, DType::kFloat32).has_value());
  EXPECT_FALSE(kCrossEntropy.fold_input_cast(CrossEntropyAttributes{}, 0, DType::kBFloat16).has_value());
  const auto read = kCrossEntropyBackward.fold_input_cast(CrossEntropyBackwardAttributes{}, 1, DType::kFloat32);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->text(), "grad_dtype=float32");
  const auto narrow = kCrossEntropyBackward.fold_output_cast(*read, 0, DType::kBFloat16);
  ASSERT_TRUE(narrow.has_value());
  EXPECT_EQ(narrow->text(), "grad_dtype=bfloat16");
}

}  // namespace
}  // namespace laptime::test
