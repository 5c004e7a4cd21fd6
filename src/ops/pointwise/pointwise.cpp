// Cards of the pointwise primitives, with their formulas and gradients.
#include "ops/pointwise/pointwise.h"

#include <fmt/format.h>

#include <cmath>

namespace laptime {
namespace {

using Unary = double (*)(double);
using Binary = double (*)(double, double);

std::vector<TensorType> infer_unary(const Attributes&, std::span<const TensorType> in) {
  return {{in[0].dtype, pointwise_layout(in[0].shape(), in)}};
}

std::vector<TensorType> infer_binary(const Attributes&, std::span<const TensorType> in) {
  const Shape shape = broadcast(in[0].shape(), in[1].shape());
  // As in torch, a tensor without axes does not widen the type of a tensor with axes.
  const bool left_scalar = in[0].shape().empty() && !in[1].shape().empty();
  const bool right_scalar = in[1].shape().empty() && !in[0].shape().empty();
  const DType dtype = left_scalar ? in[1].dtype : right_scalar ? in[0].dtype : promote(in[0].dtype, in[1].dtype);
  return {{dtype, pointwise_layout(shape, in)}};
}

std::vector<TensorType> infer_where(const Attributes&, std::span<const TensorType> in) {
  const Shape shape = broadcast(in[0].shape(), in[1].shape());
  return {{in[1].dtype, pointwise_layout(shape, in.subspan(1))}};
}

template <Unary formula>
void reference_unary(const OpCall& call) {
  for (int64_t i = 0; i < call.out[0].numel(); ++i) call.out[0].put(i, formula(call.in[0].at(i)));
}

template <Binary formula>
void reference_binary(const OpCall& call) {
  const TensorView a = call.in[0].broadcast_to(call.out[0].shape());
  const TensorView b = call.in[1].broadcast_to(call.out[0].shape());
  for (int64_t i = 0; i < call.out[0].numel(); ++i) call.out[0].put(i, formula(a.at(i), b.at(i)));
}

template <Binary formula>
void reference_scalar(const OpCall& call) {
  const double value = call.attributes.as<ScalarAttributes>().value;
  for (int64_t i = 0; i < call.out[0].numel(); ++i) call.out[0].put(i, formula(call.in[0].at(i), value));
}

void reference_where(const OpCall& call) {
  const TensorView mask = call.in[0].broadcast_to(call.out[0].shape());
  const TensorView x = call.in[1].broadcast_to(call.out[0].shape());
  const double otherwise = call.attributes.as<ScalarAttributes>().value;
  for (int64_t i = 0; i < call.out[0].numel(); ++i) call.out[0].put(i, mask.at(i) != 0 ? x.at(i) : otherwise);
}

double one_flop(const Signature& s) { return static_cast<double>(s.out[0].numel()); }

void gradient_add(GradientContext& c) { c.grad_in[0] = c.grad_in[1] = c.grad_out[0]; }

void gradient_sub(GradientContext& c) {
  if (c.wanted[0]) c.grad_in[0] = c.grad_out[0];
  if (c.wanted[1]) c.grad_in[1] = neg(c.build, c.grad_out[0]);
}

void gradient_mul(GradientContext& c) {
  if (c.wanted[0]) c.grad_in[0] = mul(c.build, c.grad_out[0], c.in[1]);
  if (c.wanted[1]) c.grad_in[1] = mul(c.build, c.grad_out[0], c.in[0]);
}

// Emits the gradients grad / y for x, and -grad ((x / y) / y) for y, in the order of torch's DivBackward. Torch
// computes the gradient of y in a single C++ expression, whose temporaries live until its end. So x / y stays allocated
// until the product is computed.
void gradient_div(GradientContext& c) {
  if (c.wanted[1]) {
    const auto frame = c.build.frame(fmt::format("div_backward {}", c.grad_out[0].index));
    const ValueId quotient = c.build.hold(div(c.build, c.in[0], c.in[1]), "quotient");
    const ValueId factor = div(c.build, quotient, c.in[1]);
    c.grad_in[1] = mul(c.build, neg(c.build, c.grad_out[0]), factor);
  }
  if (c.wanted[0]) c.grad_in[0] = div(c.build, c.grad_out[0], c.in[1]);
}

void gradient_add_scalar(GradientContext& c) { c.grad_in[0] = c.grad_out[0]; }
void gradient_mul_scalar(GradientContext& c) {
  c.grad_in[0] = mul_scalar(c.build, c.grad_out[0], c.attributes.as<ScalarAttributes>().value);
}
void gradient_div_scalar(GradientContext& c) {
  c.grad_in[0] = div_scalar(c.build, c.grad_out[0], c.attributes.as<ScalarAttributes>().value);
}
// grad_x = grad (n x^(n-1)). As in torch, there is a node for the power even if n - 1 is 1.
void gradient_pow(GradientContext& c) {
  const double exponent = c.attributes.as<ScalarAttributes>().value;
  const ValueId power = pow(c.build, c.in[0], static_cast<int>(exponent) - 1);
  c.grad_in[0] = mul(c.build, c.grad_out[0], mul_scalar(c.build, power, exponent));
}
void gradient_neg(GradientContext& c) { c.grad_in[0] = neg(c.build, c.grad_out[0]); }
void gradient_exp(GradientContext& c) { c.grad_in[0] = mul(c.build, c.grad_out[0], c.out[0]); }
void gradient_log(GradientContext& c) { c.grad_in[0] = div(c.build, c.grad_out[0], c.in[0]); }
void gradient_sqrt(GradientContext& c) { c.grad_in[0] = div(c.build, c.grad_out[0], mul_scalar(c.build, c.out[0], 2)); }
// grad_x = -1/2 grad y^3
void gradient_rsqrt(GradientContext& c) {
  const ValueId cube = pow(c.build, c.out[0], 3);
  c.grad_in[0] = mul(c.build, mul_scalar(c.build, c.grad_out[0], -0.5), cube);
}
void gradient_square(GradientContext& c) {
  c.grad_in[0] = mul(c.build, c.grad_out[0], mul_scalar(c.build, c.in[0], 2));
}
void gradient_sigmoid(GradientContext& c) {
  c.grad_in[0] = c.build.emit_one(kSigmoidBackward, {}, {c.grad_out[0], c.out[0]});
}
void gradient_silu(GradientContext& c) { c.grad_in[0] = c.build.emit_one(kSiluBackward, {}, {c.grad_out[0], c.in[0]}); }
void gradient_where(GradientContext& c) { c.grad_in[1] = where(c.build, c.in[0], c.grad_out[0], 0); }

}  // namespace

const OpCard kAdd = {.name = "add",
                     .infer = infer_binary,
                     .gradient = gradient_add,
                     .flops = one_flop,
                     .reference = reference_binary<[](double a, double b) { return a + b; }>,
                     .is_sum = true};
const OpCard kSub = {.name = "sub",
                     .infer = infer_binary,
                     .gradient = gradient_sub,
                     .flops = one_flop,
                     .reference = reference_binary<[](double a, double b) { return a - b; }>};
const OpCard kMul = {.name = "mul",
                     .infer = infer_binary,
                     .gradient = gradient_mul,
                     .flops = one_flop,
                     .reference = reference_binary<[](double a, double b) { return a * b; }>};
const OpCard kDiv = {.name = "div",
                     .infer = infer_binary,
                     .gradient = gradient_div,
                     .flops = one_flop,
                     .reference = reference_binary<[](double a, double b) { return a / b; }>};
const OpCard kAddScalar = {.name = "add_scalar",
                           .infer = infer_unary,
                           .gradient = gradient_add_scalar,
                           .flops = one_flop,
                           .reference = reference_scalar<[](double x, double value) { return x + value; }>};
const OpCard kMulScalar = {.name = "mul_scalar",
                           .infer = infer_unary,
                           .gradient = gradient_mul_scalar,
                           .flops = one_flop,
                           .reference = reference_scalar<[](double x, double value) { return x * value; }>};
const OpCard kDivScalar = {.name = "div_scalar",
                           .infer = infer_unary,
                           .gradient = gradient_div_scalar,
                           .flops = one_flop,
                           .reference = reference_scalar<[](double x, double value) { return x / value; }>};
const OpCard kPow = {.name = "pow",
                     .infer = infer_unary,
                     .gradient = gradient_pow,
                     .flops = one_flop,
                     .autocast = Autocast::kFloat32,
                     .reference = reference_scalar<[](double x, double value) { return std::pow(x, value); }>};
const OpCard kNeg = {.name = "neg",
                     .infer = infer_unary,
                     .gradient = gradient_neg,
                     .flops = one_flop,
                     .reference = reference_unary<[](double x) { return -x; }>};
const OpCard kExp = {.name = "exp",
                     .infer = infer_unary,
                     .gradient = gradient_exp,
                     .flops = one_flop,
                     .autocast = Autocast::kFloat32,
                     .reference = reference_unary<[](double x) { return std::exp(x); }>};
const OpCard kLog = {.name = "log",
                     .infer = infer_unary,
                     .gradient = gradient_log,
                     .flops = one_flop,
                     .autocast = Autocast::kFloat32,
                     .reference = reference_unary<[](double x) { return std::log(x); }>};
const OpCard kSqrt = {.name = "sqrt",
                      .infer = infer_unary,
                      .gradient = gradient_sqrt,
                      .flops = one_flop,
                      .reference = reference_unary<[](double x) { return std::sqrt(x); }>};
const OpCard kRsqrt = {.name = "rsqrt",
                       .infer = infer_unary,
                       .gradient = gradient_rsqrt,
                       .flops = one_flop,
                       .autocast = Autocast::kFloat32,
                       .reference = reference_unary<[](double x) { return 1 / std::sqrt(x); }>};
const OpCard kSquare = {.name = "square",
                        .infer = infer_unary,
                        .gradient = gradient_square,
                        .flops = one_flop,
                        .reference = reference_unary<[](double x) { return x * x; }>};
const OpCard kSigmoid = {.name = "sigmoid",
                         .infer = infer_unary,
                         .gradient = gradient_sigmoid,
                         .flops = one_flop,
                         .reference = reference_unary<[](double x) { return 1 / (1 + std::exp(-x)); }>};
const OpCard kSigmoidBackward = {
    .name = "sigmoid_backward",
    .infer = infer_binary,
    .flops = one_flop,
    .reference = reference_binary<[](double grad, double y) { return grad * y * (1 - y); }>};
const OpCard kSilu = {.name = "silu",
                      .infer = infer_unary,
                      .gradient = gradient_silu,
                      .flops = [](const Signature& s) { return 5 * one_flop(s); },
                      .reference = reference_unary<[](double x) { return x / (1 + std::exp(-x)); }>};
const OpCard kSiluBackward = {.name = "silu_backward",
                              .infer = infer_binary,
                              .flops = [](const Signature& s) { return 8 * one_flop(s); },
                              .reference = reference_binary<[](double grad, double x) {
                                const double s = 1 / (1 + std::exp(-x));
                                return grad * (s * (1 + x * (1 - s)));
                              }>};
const OpCard kWhere = {
    .name = "where", .infer = infer_where, .gradient = gradient_where, .flops = one_flop, .reference = reference_where};

std::string exponent_refusal(const Signature& signature) {
  const double exponent = signature.attributes.as<ScalarAttributes>().value;
  if (exponent == std::trunc(exponent) && std::abs(exponent) <= 64) return "";
  return "the exponent is not a whole number from -64 to 64";
}

std::span<const OpCard* const> pointwise_cards() {
  static constexpr const OpCard* kCards[] = {
      &kAdd, &kSub,  &kMul,   &kDiv,    &kAddScalar, &kMulScalar,       &kDivScalar, &kPow,          &kNeg,  &kExp,
      &kLog, &kSqrt, &kRsqrt, &kSquare, &kSigmoid,   &kSigmoidBackward, &kSilu,      &kSiluBackward, &kWhere};
  return kCards;
}

ValueId add(Builder& build, ValueId a, ValueId b) { return build.emit_one(kAdd, {}, {a, b}); }
ValueId sub(Builder& build, ValueId a, ValueId b) { return build.emit_one(kSub, {}, {a, b}); }
ValueId mul(Builder& build, ValueId a, ValueId b) { return build.emit_one(kMul, {}, {a, b}); }
ValueId div(Builder& build, ValueId a, ValueId b) { return build.emit_one(kDiv, {}, {a, b}); }
ValueId add_scalar(Builder& build, ValueId x, double value) {
  return build.emit_one(kAddScalar, ScalarAttributes{value}, {x});
}
ValueId mul_scalar(Builder& build, ValueId x, double value) {
  return build.emit_one(kMulScalar, ScalarAttributes{value}, {x});
}
ValueId div_scalar(Builder& build, ValueId x, double value) {
  return build.emit_one(kDivScalar, ScalarAttributes{value}, {x});
}
ValueId pow(Builder& build, ValueId x, int exponent) {
  return build.emit_one(kPow, ScalarAttributes{static_cast<double>(exponent)}, {x});
}
ValueId neg(Builder& build, ValueId x) { return build.emit_one(kNeg, {}, {x}); }
ValueId exp(Builder& build, ValueId x) { return build.emit_one(kExp, {}, {x}); }
ValueId log(Builder& build, ValueId x) { return build.emit_one(kLog, {}, {x}); }
ValueId sqrt(Builder& build, ValueId x) { return build.emit_one(kSqrt, {}, {x}); }
ValueId rsqrt(Builder& build, ValueId x) { return build.emit_one(kRsqrt, {}, {x}); }
ValueId square(Builder& build, ValueId x) { return build.emit_one(kSquare, {}, {x}); }
ValueId sigmoid(Builder& build, ValueId x) { return build.emit_one(kSigmoid, {}, {x}); }
ValueId silu(Builder& build, ValueId x) { return build.emit_one(kSilu, {}, {x}); }
ValueId where(Builder& build, ValueId mask, ValueId x, double otherwise) {
  return build.emit_one(kWhere, ScalarAttributes{otherwise}, {mask, x});
}

}  // namespace laptime
