// One harness for every kernel: op x kernel x type x layout x shape against the card's reference. A test file of an op
// is a table of cases:
//
//   LAPTIME_CONFORMANCE(Gelu, {{.op = &kGelu, .attributes = GeluAttributes{true}, .inputs = {{{3, 17}}}}});
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/kernel.h"
#include "support/operand.h"

namespace laptime::test {

const std::vector<Arrangement>& all_arrangements();
// Those that have each element in a place of its own: for tensors that are updated.
const std::vector<Arrangement>& dense_arrangements();

// One row of a test file. Every kernel of every instruction set of this machine must
//   - give what the reference gives on the same inputs in float64, up to the tolerance below,
//   - the same bits for 1, 2 and 3 threads and when run again,
//   - write nothing but its outputs, all of them, and read nothing but its inputs,
//   - give it too with outputs where the card permits them to stand (the reference as well).
struct ConformanceCase {
  const OpCard* op = nullptr;
  Attributes attributes{};
  std::vector<Operand> inputs{};
  std::vector<DType> dtypes{DType::kFloat32, DType::kBFloat16};
  std::vector<Arrangement> arrangements = all_arrangements();
  // Layouts for which kernels may refuse (the reference runs then).
  std::vector<Arrangement> may_refuse{};
  // The result may be as far off as the formula itself moves when every input changes by `slack` units in the last
  // place of float32, plus `slack` such units of the result, then rounded to the output's type. 0: the same bits. Four
  // times as much for reductions, whose partial sums are rounded too.
  double slack = 3;
  // Added to that, for results that come from sums of numbers about 1: so many units of 1.
  double absolute = 0;
};

// A case at one type and one layout.
struct ConformancePoint {
  ConformanceCase row;
  DType dtype;
  Arrangement arrangement;
  int number;  // of the row
};
void PrintTo(const ConformancePoint& point, std::ostream* stream);

class Conformance : public testing::TestWithParam<ConformancePoint> {};

std::vector<ConformancePoint> conformance_points(const std::vector<ConformanceCase>& cases);
std::string conformance_name(const testing::TestParamInfo<ConformancePoint>& parameter);
void check_conformance(const ConformancePoint& point);
// What is wrong with one kernel at one point; empty when nothing is.
std::string conformance_error(const ConformancePoint& point, const Kernel& kernel);

// Rows of one op over several shapes, all inputs of that shape.
std::vector<ConformanceCase> over_shapes(const ConformanceCase& row, const std::vector<Shape>& shapes);
// Shapes with remainders at every level of blocking.
const std::vector<Shape>& pointwise_shapes();
std::vector<ConformanceCase> joined(std::initializer_list<std::vector<ConformanceCase>> lists);

}  // namespace laptime::test

// The test itself is TEST_P(Conformance, MatchesReference) in tests/ops/conformance_test.cpp.
#define LAPTIME_CONFORMANCE(family, ...)                                                                           \
  INSTANTIATE_TEST_SUITE_P(family, Conformance, testing::ValuesIn(laptime::test::conformance_points(__VA_ARGS__)), \
                           laptime::test::conformance_name)
