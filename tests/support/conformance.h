// The harness that checks every kernel against the reference of its op, over types, layouts and shapes. The test file
// of an op is a table of cases:
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
// Those without broadcasting, for tensors that are updated in place.
const std::vector<Arrangement>& dense_arrangements();

// One row of a test file. Every kernel of every instruction set of this machine must
//   - agree with the reference on the same inputs in float64, within the tolerance below,
//   - give the same bits with 1, 2 and 3 threads and when it runs again,
//   - write all elements of its outputs and nothing else, and read nothing but its inputs,
//   - do so too where an output is written over an input, as far as the card permits it.
struct ConformanceCase {
  const OpCard* op = nullptr;
  Attributes attributes{};
  std::vector<Operand> inputs{};
  std::vector<DType> dtypes{DType::kFloat32, DType::kBFloat16};
  std::vector<Arrangement> arrangements = all_arrangements();
  // Layouts that kernels may refuse, for which the reference would run.
  std::vector<Arrangement> may_refuse{};
  // The accepted error: as far as the result of the formula moves when every input changes by `slack` units in the last
  // place of float32, plus `slack` such units of the result, and then the rounding to the output's type. Reductions and
  // products, whose partial sums are rounded too, get four times as much. 0 asks for the same bits.
  double slack = 3;
  // Added to that, in units in the last place of 1: for results that are differences of numbers of about 1.
  double absolute = 0;
};

// A case at one type and one layout.
struct ConformancePoint {
  ConformanceCase row;
  DType dtype;
  Arrangement arrangement;
  int number;  // of the row in its table
};
void PrintTo(const ConformancePoint& point, std::ostream* stream);

class Conformance : public testing::TestWithParam<ConformancePoint> {};

std::vector<ConformancePoint> conformance_points(const std::vector<ConformanceCase>& cases);
std::string conformance_name(const testing::TestParamInfo<ConformancePoint>& parameter);
void check_conformance(const ConformancePoint& point);
// What is wrong with one kernel at one point; empty when nothing is.
std::string conformance_error(const ConformancePoint& point, const Kernel& kernel);

// One row for each shape, which all inputs have.
std::vector<ConformanceCase> over_shapes(const ConformanceCase& row, const std::vector<Shape>& shapes);
// Shapes that leave remainders at every level of blocking.
const std::vector<Shape>& pointwise_shapes();
std::vector<ConformanceCase> joined(std::initializer_list<std::vector<ConformanceCase>> lists);

}  // namespace laptime::test

// The test itself is TEST_P(Conformance, MatchesReference) in tests/ops/conformance_test.cpp.
#define LAPTIME_CONFORMANCE(family, ...)                                                                           \
  INSTANTIATE_TEST_SUITE_P(family, Conformance, testing::ValuesIn(laptime::test::conformance_points(__VA_ARGS__)), \
                           laptime::test::conformance_name)
