// Checks every kernel against the reference of its op, for many types, layouts and shapes. The test file of an op is a
// table of cases:
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
// Arrangements without broadcasting, for tensors that are updated in place.
const std::vector<Arrangement>& dense_arrangements();

// Limits of the L2 error of a contraction, relative to the norm of the exact result.
constexpr double kFloat32Limit = 1e-5;
constexpr double kBFloat16Limit = 8e-3;
constexpr double kFloat16Limit = 1e-3;  // also for TF32, which has as many mantissa bits

// Computes a product with plain float32 loops (support/products.h).
using PlainLoops = std::vector<double> (*)(const Signature& signature, std::span<const TensorView> in);

// One row of a case table. Every kernel of every instruction set of this machine, and every CUDA kernel, on the host
// (support/cuda/host_grid.h) or on a GPU (kernels_to_check), must
//   - agree with the reference on the same inputs in float64, within the tolerance below,
//   - for a contraction, also agree in the L2 norm (kFloat32Limit, ...) and, with `plain`, have a largest error of
//     at most twice that of the plain loops; cuBLASLt, whose order of additions is unspecified, may reach
//     Expected::largest_library_error(),
//   - give the same bits with 1, 2 and 3 threads (a CUDA kernel: for any order of the threads of a block), and when it
//     runs again,
//   - write all elements of its outputs and nothing else, and read nothing but its inputs,
//   - satisfy all this also if an output overwrites an input, where the op card permits it.
struct ConformanceCase {
  const OpCard* op = nullptr;
  Attributes attributes{};
  std::vector<Operand> inputs{};
  std::vector<DType> dtypes{DType::kFloat32, DType::kBFloat16, DType::kFloat16};
  std::vector<Arrangement> arrangements = all_arrangements();
  // Arrangements that kernels may reject, so that the reference runs instead.
  std::vector<Arrangement> may_refuse{};
  // The accepted error is the sum of three parts: the change of the exact result if every input changes by `slack`
  // units in the last place of float32 (of TF32 for kernels with TF32 products), `slack` such units of the result, and
  // the rounding error of the type of the output. Reductions and products may have four times this error, because
  // partial sums are rounded too. If `slack` is 0, a result must equal the exact result rounded to the type of the
  // output. With 16-bit inputs, the error of a kernel that rounds between products may also include four times the
  // effect of changing each input by half a unit of its type. cuBLASLt may round a product to the 16-bit type of its
  // result before it adds the bias.
  double slack = 3;
  // Additional error, in units in the last place of 1.0F (ignored if `slack` is 0), for results that are differences of
  // numbers near 1.
  double absolute = 0;
  PlainLoops plain = nullptr;  // computes the first output of a product; null for other ops
};

// A row of a case table with one type, checked in each arrangement of the row.
struct ConformancePoint {
  ConformanceCase row;
  DType dtype;
  int number;  // index of the row in its table
};
void PrintTo(const ConformancePoint& point, std::ostream* stream);

class Conformance : public testing::TestWithParam<ConformancePoint> {};

std::vector<ConformancePoint> conformance_points(const std::vector<ConformanceCase>& cases);
std::string conformance_name(const testing::TestParamInfo<ConformancePoint>& parameter);
void check_conformance(const ConformancePoint& point);
// Describes the error of one CPU kernel with contiguous operands; empty if the kernel is correct.
std::string conformance_error(const ConformanceCase& row, DType dtype, const Kernel& kernel);

// One case per shape, in which all inputs have that shape.
std::vector<ConformanceCase> over_shapes(const ConformanceCase& row, const std::vector<Shape>& shapes);
// Shapes with remainders at every level of blocking.
const std::vector<Shape>& pointwise_shapes();
std::vector<ConformanceCase> joined(std::initializer_list<std::vector<ConformanceCase>> lists);

}  // namespace laptime::test

// The test is TEST_P(Conformance, MatchesReference) in tests/ops/conformance_test.cpp.
#define LAPTIME_CONFORMANCE(family, ...)                                                                           \
  INSTANTIATE_TEST_SUITE_P(family, Conformance, testing::ValuesIn(laptime::test::conformance_points(__VA_ARGS__)), \
                           laptime::test::conformance_name)
