// Pointwise primitives: arithmetic on one or two tensors with broadcasting, and elementary functions.
#pragma once

#include "graph/builder.h"

namespace laptime {

// (a, b), broadcast: a + b, a - b, a * b, a / b, in the promoted type. As in torch, an operand without axes does not
// widen the type.
extern const OpCard kAdd, kSub, kMul, kDiv;
// x + value, x * value, x / value, for a constant value.
extern const OpCard kAddScalar, kMulScalar, kDivScalar;
// x^value, where the constant value is an integer.
extern const OpCard kPow;
extern const OpCard kNeg, kExp, kLog, kSqrt, kRsqrt, kSquare, kSigmoid;
// x sigmoid(x)
extern const OpCard kSilu;
// (grad_y, x) -> grad_x = grad_y s (1 + x (1 - s)), s = sigmoid(x)
extern const OpCard kSiluBackward;
// (grad_y, y = sigmoid(x)) -> grad_x = grad_y y (1 - y)
extern const OpCard kSigmoidBackward;
// (mask bool, x), broadcast -> x if the mask is true, otherwise value
extern const OpCard kWhere;

struct ScalarAttributes {
  double value = 0;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("value", self.value);
  }
};

// Returns why no kernel of kPow supports this exponent; empty if kernels do.
std::string exponent_refusal(const Signature& signature);

ValueId add(Builder& build, ValueId a, ValueId b);
ValueId sub(Builder& build, ValueId a, ValueId b);
ValueId mul(Builder& build, ValueId a, ValueId b);
ValueId div(Builder& build, ValueId a, ValueId b);
ValueId add_scalar(Builder& build, ValueId x, double value);
ValueId mul_scalar(Builder& build, ValueId x, double value);
ValueId div_scalar(Builder& build, ValueId x, double value);
ValueId pow(Builder& build, ValueId x, int exponent);
ValueId neg(Builder& build, ValueId x);
ValueId exp(Builder& build, ValueId x);
ValueId log(Builder& build, ValueId x);
ValueId sqrt(Builder& build, ValueId x);
ValueId rsqrt(Builder& build, ValueId x);
ValueId square(Builder& build, ValueId x);
ValueId sigmoid(Builder& build, ValueId x);
ValueId silu(Builder& build, ValueId x);
ValueId where(Builder& build, ValueId mask, ValueId x, double otherwise);

std::span<const OpCard* const> pointwise_cards();

}  // namespace laptime
