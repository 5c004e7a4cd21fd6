// Pointwise primitives: kernels compared with the references, and gradients.
#include "ops/pointwise/pointwise.h"

#include <limits>

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

const std::vector<Operand> kOne{{.shape = {}}};
const std::vector<Operand> kTwo{{.shape = {}}, {.shape = {}}};

std::vector<ConformanceCase> unary(const OpCard& op, Values values = Values::kSigned,
                                   const Attributes& attributes = {}) {
  return over_shapes({.op = &op, .attributes = attributes, .inputs = {{.shape = {}, .values = values}}},
                     pointwise_shapes());
}

std::vector<ConformanceCase> binary(const OpCard& op) {
  return over_shapes({.op = &op, .inputs = kTwo}, pointwise_shapes());
}

// Broadcasts along the last axis, along leading axes, from a scalar, and of both operands. Also mixed types.
std::vector<ConformanceCase> broadcasting(const OpCard& op) {
  const std::vector<std::pair<Shape, Shape>> shapes{
      {{3, 4, 65}, {3, 4, 1}}, {{3, 4, 65}, {65}}, {{2, 3, 5, 8}, {5, 8}},
      {{2, 1100}, {1, 1}},     {{33}, {}},         {{}, {2, 9}},
      {{4, 1, 7}, {5, 1}},     {{2, 700}, {2, 1}}, {{40, 24}, {40, 1}},
      {{40, 24}, {24}},        {{24}, {40, 24}},   {{4, 1, 8}, {5, 1}},
  };
  std::vector<ConformanceCase> rows;
  for (const auto& [a, b] : shapes) {
    rows.push_back({.op = &op, .inputs = {{.shape = a}, {.shape = b}}});
    rows.push_back({.op = &op,
                    .inputs = {{.shape = a}, {.shape = b, .dtype = DType::kFloat32}},
                    .dtypes = {DType::kBFloat16},
                    .arrangements = {Arrangement::kContiguous, Arrangement::kMixed}});
  }
  return rows;
}

std::vector<ConformanceCase> where_rows() {
  std::vector<ConformanceCase> rows;
  const std::vector<std::pair<Shape, Shape>> shapes{
      {{6, 6}, {2, 3, 6, 6}}, {{9, 70}, {9, 70}}, {{1, 65}, {4, 65}}, {{700, 9}, {700, 9}}, {{8, 1}, {5, 8, 12}}};
  for (const auto& [mask, x] : shapes) {
    for (const double otherwise : {0.0, -std::numeric_limits<double>::infinity()}) {
      rows.push_back(
          {.op = &kWhere,
           .attributes = ScalarAttributes{otherwise},
           .inputs = {{.shape = mask, .values = Values::kIndices, .dtype = DType::kBool, .bound = 2}, {.shape = x}},
           .slack = 0});
    }
  }
  return rows;
}

std::vector<ConformanceCase> extremes() {
  std::vector<ConformanceCase> rows;
  const auto add = [&](const OpCard& op, size_t inputs, const Attributes& attributes = {}) {
    const Operand operand{.shape = {5, 211}, .values = Values::kExtreme};
    rows.push_back({.op = &op,
                    .attributes = attributes,
                    .inputs = std::vector<Operand>(inputs, operand),
                    .arrangements = {Arrangement::kContiguous, Arrangement::kStrided}});
  };
  for (const OpCard* op : {&kNeg, &kExp, &kLog, &kSqrt, &kRsqrt, &kSquare, &kSigmoid, &kSilu}) add(*op, 1);
  for (const OpCard* op : {&kAdd, &kSub, &kMul, &kDiv}) add(*op, 2);
  for (const OpCard* op : {&kAddScalar, &kMulScalar, &kDivScalar}) add(*op, 1, ScalarAttributes{-2.5});
  for (const double exponent : {0.0, 1.0, 2.0, 3.0, -2.0}) add(kPow, 1, ScalarAttributes{exponent});
  return rows;
}

// Enough elements to be divided among several threads.
std::vector<ConformanceCase> large() {
  std::vector<ConformanceCase> rows;
  for (const OpCard* op : {&kExp, &kNeg}) {
    rows.push_back({.op = op,
                    .inputs = {{.shape = {3, 25000}}},
                    .arrangements = {Arrangement::kContiguous, Arrangement::kTransposed, Arrangement::kStrided}});
  }
  rows.push_back({.op = &kMul,
                  .inputs = {{.shape = {70, 9, 65}}, {.shape = {70, 1, 1}}},
                  .arrangements = {Arrangement::kContiguous, Arrangement::kReversed, Arrangement::kMixed}});
  return rows;
}

LAPTIME_CONFORMANCE(
    Unary,
    joined({unary(kNeg, Values::kSigned), unary(kExp), unary(kLog, Values::kPositive), unary(kSqrt, Values::kPositive),
            unary(kRsqrt, Values::kPositive), unary(kSquare), unary(kSigmoid), unary(kSilu),
            unary(kAddScalar, Values::kSigned, ScalarAttributes{0.75}),
            unary(kMulScalar, Values::kSigned, ScalarAttributes{-1.3}),
            unary(kDivScalar, Values::kSigned, ScalarAttributes{8.3}),
            unary(kPow, Values::kSigned, ScalarAttributes{1}), unary(kPow, Values::kSigned, ScalarAttributes{2}),
            unary(kPow, Values::kSigned, ScalarAttributes{3}), unary(kPow, Values::kPositive, ScalarAttributes{-3})}));
LAPTIME_CONFORMANCE(Binary, joined({binary(kAdd), binary(kSub), binary(kMul), binary(kDiv), binary(kSigmoidBackward),
                                    binary(kSiluBackward)}));
LAPTIME_CONFORMANCE(Broadcasting,
                    joined({broadcasting(kAdd), broadcasting(kSub), broadcasting(kMul), broadcasting(kDiv)}));
LAPTIME_CONFORMANCE(Where, where_rows());
LAPTIME_CONFORMANCE(PointwiseExtremes, extremes());
LAPTIME_CONFORMANCE(PointwiseLarge, large());

TEST(Pointwise, GradientsOfUnaryOpsMatchFiniteDifferences) {
  for (const OpCard* op : {&kNeg, &kExp, &kSquare, &kSigmoid, &kSilu})
    expect_gradient({.op = op, .inputs = {{.shape = {3, 4}}}});
  for (const OpCard* op : {&kLog, &kSqrt, &kRsqrt}) {
    expect_gradient({.op = op, .inputs = {{.shape = {3, 4}, .values = Values::kPositive}}});
  }
  for (const OpCard* op : {&kAddScalar, &kMulScalar, &kDivScalar}) {
    expect_gradient({.op = op, .attributes = ScalarAttributes{-2.5}, .inputs = {{.shape = {3, 4}}}});
  }
  for (const double exponent : {1.0, 2.0, 3.0, 5.0}) {
    expect_gradient({.op = &kPow, .attributes = ScalarAttributes{exponent}, .inputs = {{.shape = {3, 4}}}});
  }
}

TEST(Pointwise, GradientsOfBinaryOpsMatchFiniteDifferences) {
  const std::vector<std::pair<Shape, Shape>> shapes{
      {{3, 4}, {3, 4}}, {{2, 3, 4}, {3, 1}}, {{4}, {2, 3, 1}}, {{2, 3}, {}}};
  for (const auto& [a, b] : shapes) {
    for (const OpCard* op : {&kAdd, &kSub, &kMul, &kDiv}) {
      expect_gradient({.op = op, .inputs = {{.shape = a}, {.shape = b, .values = Values::kPositive}}});
    }
  }
}

TEST(Pointwise, GradientOfWhereMatchesFiniteDifferences) {
  const Operand mask{.shape = {3, 4}, .values = Values::kIndices, .dtype = DType::kBool, .bound = 2};
  expect_gradient({.op = &kWhere, .attributes = ScalarAttributes{-7}, .inputs = {mask, {.shape = {2, 3, 4}}}});
}

}  // namespace
}  // namespace laptime::test
