// Sum, mean and max: kernels compared with the references, and gradients.
#include "ops/reduce/reduce.h"

#include <limits>

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

std::vector<ConformanceCase> sums(const OpCard& op) {
  const std::vector<std::pair<Shape, Dims>> reductions{
      {{5, 7}, {1}},          {{5, 7}, {0}},          {{5, 7}, {0, 1}},    {{3, 4, 65}, {2}}, {{3, 4, 65}, {0, 1}},
      {{3, 4, 65}, {1}},      {{3, 4, 65}, {0, 2}},   {{2, 1100}, {1}},    {{300, 5}, {0}},   {{300, 5}, {1}},
      {{2, 3, 4, 5}, {1, 3}}, {{2, 3, 4, 5}, {0, 2}}, {{1}, {0}},          {{1, 9}, {0}},     {{8, 1}, {1}},
      {{130, 1050}, {0}},     {{4, 3, 600}, {0}},     {{6, 3000}, {0, 1}}, {{600, 152}, {0}}, {{9, 2048}, {1}},
  };
  std::vector<ConformanceCase> rows;
  rows.reserve(reductions.size() + 3);
  for (const auto& [shape, axes] : reductions) {
    rows.push_back({.op = &op, .attributes = AxesAttributes{axes}, .inputs = {{.shape = shape}}});
  }
  rows.push_back({.op = &op,
                  .attributes = AxesAttributes{{0, 1}},
                  .inputs = {{.shape = {90, 1000}}},
                  .arrangements = {Arrangement::kContiguous, Arrangement::kTransposed, Arrangement::kStrided}});
  rows.push_back({.op = &op,
                  .attributes = AxesAttributes{{1}},
                  .inputs = {{.shape = {2, 70001}}},
                  .arrangements = {Arrangement::kContiguous, Arrangement::kTransposed}});
  rows.push_back({.op = &op,
                  .attributes = AxesAttributes{{1}},
                  .inputs = {{.shape = {40, 41}, .values = Values::kRare}},
                  .arrangements = {Arrangement::kContiguous, Arrangement::kTransposed}});
  return rows;
}

std::vector<ConformanceCase> maxima() {
  std::vector<ConformanceCase> rows;
  for (const Shape& shape : std::vector<Shape>{{1}, {5}, {3, 4, 65}, {33, 64}, {2, 1100}, {3, 2049}, {1200, 3}}) {
    rows.push_back({.op = &kMax, .inputs = {{.shape = shape}}, .slack = 0});
    // Only three distinct values, so that ties occur and the index must be that of the first maximum.
    rows.push_back({.op = &kMax, .inputs = {{.shape = shape, .values = Values::kIndices, .bound = 3}}, .slack = 0});
    rows.push_back(
        {.op = &kMax,
         .inputs = {{.shape = shape, .values = Values::kConstant, .bound = -std::numeric_limits<double>::infinity()}},
         .arrangements = {Arrangement::kContiguous},
         .slack = 0});
    rows.push_back({.op = &kMax, .inputs = {{.shape = shape, .values = Values::kExtreme}}, .slack = 0});
  }
  return rows;
}

LAPTIME_CONFORMANCE(Sum, sums(kSum));
LAPTIME_CONFORMANCE(Mean, sums(kMean));
LAPTIME_CONFORMANCE(Max, maxima());

TEST(Reduce, GradientsMatchFiniteDifferences) {
  for (const OpCard* op : {&kSum, &kMean}) {
    for (const Dims& axes : std::vector<Dims>{{0}, {2}, {0, 1}, {0, 1, 2}}) {
      expect_gradient({.op = op, .attributes = AxesAttributes{axes}, .inputs = {{.shape = {2, 3, 4}}}});
    }
  }
  expect_gradient({.op = &kMax, .inputs = {{.shape = {5, 7}}}});
}

}  // namespace
}  // namespace laptime::test
