// GELU, ReLU and the SwiGLU gate: kernels compared with the references, and gradients.
#include "ops/gelu/gelu.h"
#include "ops/relu/relu.h"
#include "ops/swiglu/swiglu.h"
#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

std::vector<ConformanceCase> gelu_rows(const OpCard& op, bool tanh) {
  const GeluAttributes attributes{tanh};
  const Operand x{.shape = {}};
  const Operand extreme{.shape = {5, 211}, .values = Values::kExtreme};
  const std::vector<Arrangement> few{Arrangement::kContiguous, Arrangement::kStrided};
  return joined({
      over_shapes({.op = &op, .attributes = attributes, .inputs = {x}}, pointwise_shapes()),
      over_shapes({.op = &kGeluBackward, .attributes = attributes, .inputs = {x, x}}, pointwise_shapes()),
      {{.op = &op, .attributes = attributes, .inputs = {extreme}, .arrangements = few},
       {.op = &kGeluBackward, .attributes = attributes, .inputs = {{.shape = {5, 211}}, extreme}, .arrangements = few}},
  });
}

LAPTIME_CONFORMANCE(GeluErf, gelu_rows(kGelu, false));
LAPTIME_CONFORMANCE(GeluTanh, gelu_rows(kGelu, true));
LAPTIME_CONFORMANCE(GeluNew, gelu_rows(kGeluNew, true));

TEST(Gelu, GradientMatchesFiniteDifferences) {
  for (const bool tanh : {false, true}) {
    expect_gradient({.op = &kGelu, .attributes = GeluAttributes{tanh}, .inputs = {{.shape = {4, 9}}}});
  }
  expect_gradient({.op = &kGeluNew, .attributes = GeluAttributes{.tanh = true}, .inputs = {{.shape = {4, 9}}}});
}

std::vector<ConformanceCase> relu_rows() {
  const Operand x{.shape = {}};
  const Operand extreme{.shape = {5, 211}, .values = Values::kExtreme};
  return joined({
      over_shapes({.op = &kRelu, .inputs = {x}, .slack = 0}, pointwise_shapes()),
      over_shapes({.op = &kReluBackward, .inputs = {x, x}, .slack = 0}, pointwise_shapes()),
      {{.op = &kRelu, .inputs = {extreme}, .arrangements = {Arrangement::kContiguous}, .slack = 0}},
  });
}

LAPTIME_CONFORMANCE(Relu, relu_rows());

TEST(Relu, GradientMatchesFiniteDifferences) { expect_gradient({.op = &kRelu, .inputs = {{.shape = {4, 9}}}}); }

std::vector<ConformanceCase> swiglu_rows() {
  const Operand x{.shape = {}};
  const Operand plain{.shape = {5, 211}};
  const Operand extreme{.shape = {5, 211}, .values = Values::kExtreme};
  const Operand wide{.shape = {5, 211}, .dtype = DType::kFloat32};
  const std::vector<Arrangement> few{Arrangement::kContiguous, Arrangement::kStrided};
  return joined({
      over_shapes({.op = &kSwiglu, .inputs = {x, x}}, pointwise_shapes()),
      over_shapes({.op = &kSwigluBackward, .inputs = {x, x, x}}, pointwise_shapes()),
      {{.op = &kSwiglu, .inputs = {extreme, plain}, .arrangements = few},
       {.op = &kSwiglu, .inputs = {plain, extreme}, .arrangements = few},
       {.op = &kSwigluBackward, .inputs = {plain, extreme, plain}, .arrangements = few},
       {.op = &kSwigluBackward, .inputs = {wide, plain, plain}, .dtypes = {DType::kBFloat16}}},
  });
}

LAPTIME_CONFORMANCE(Swiglu, swiglu_rows());

TEST(Swiglu, GradientMatchesFiniteDifferences) {
  expect_gradient({.op = &kSwiglu, .inputs = {{.shape = {4, 9}}, {.shape = {4, 9}}}});
}

}  // namespace
}  // namespace laptime::test
