// AdamW: the kernel against the reference, in place, for the three rules.
#include "ops/adamw/adamw.h"

#include "support/conformance.h"

namespace laptime::test {
namespace {

std::vector<ConformanceCase> adamw_rows() {
  std::vector<ConformanceCase> rows;
  for (const AdamRule rule : {AdamRule::k2025, AdamRule::k2026, AdamRule::kTorch}) {
    for (const Shape& shape : std::vector<Shape>{{1}, {7, 5}, {33, 65}, {2, 1100}, {90, 800}}) {
      for (const double step : {1.0, 1000.0}) {
        const Operand any{.shape = shape, .dtype = DType::kFloat32};
        const Operand positive{.shape = shape, .values = Values::kPositive, .dtype = DType::kFloat32};
        rows.push_back({.op = &kAdamW,
                        .attributes = AdamWAttributes{rule, 0.9, 0.999, 1e-8, 0.01},
                        .inputs = {any,
                                   {.shape = shape},  // the gradient may have a different type
                                   any,
                                   positive,
                                   {.shape = {}, .values = Values::kConstant, .dtype = DType::kInt64, .bound = step},
                                   {.shape = {}, .values = Values::kConstant, .dtype = DType::kFloat32, .bound = 1e-2}},
                        .arrangements = shape.product() < 10000 ? dense_arrangements()
                                                                : std::vector<Arrangement>{Arrangement::kContiguous}});
      }
    }
  }
  return rows;
}

LAPTIME_CONFORMANCE(AdamW, adamw_rows());

}  // namespace
}  // namespace laptime::test
