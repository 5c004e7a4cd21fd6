// Negative log likelihood: kernels compared with the references, and gradients.
#include "ops/nll_loss/nll_loss.h"

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

const std::vector<Arrangement> kNllLossGaps{Arrangement::kStrided, Arrangement::kPadded, Arrangement::kBroadcast,
                                            Arrangement::kMixed};

std::vector<ConformanceCase> nll_loss_rows() {
  std::vector<ConformanceCase> rows;
  for (const Shape& shape : std::vector<Shape>{{1, 1}, {7, 5}, {64, 97}, {1200, 10}, {3, 70001}}) {
    const Operand log_p{.shape = shape};
    const Operand number{.shape = {}, .values = Values::kPositive};
    const Operand targets{.shape = {shape[0]},
                          .values = Values::kIndices,
                          .dtype = DType::kInt64,
                          .bound = static_cast<double>(shape.back())};
    rows.push_back({.op = &kNllLoss, .inputs = {log_p, targets}, .may_refuse = kNllLossGaps});
    rows.push_back({.op = &kNllLossBackward, .inputs = {number, log_p, targets, number}, .may_refuse = kNllLossGaps});
  }
  return rows;
}

LAPTIME_CONFORMANCE(NllLoss, nll_loss_rows());

TEST(NllLoss, GradientMatchesFiniteDifferences) {
  const Operand targets{.shape = {6}, .values = Values::kIndices, .dtype = DType::kInt64, .bound = 5};
  expect_gradient({.op = &kNllLoss, .inputs = {{.shape = {6, 5}}, targets}});
}

}  // namespace
}  // namespace laptime::test
