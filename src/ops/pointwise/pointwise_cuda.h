// CUDA kernel of the pointwise primitives: one kernel for all ops, with a formula for each.
#pragma once

#include <cmath>

#include "backend/cuda/map_elements.h"

namespace laptime::cuda {

enum class Formula : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kNeg,
  kExp,
  kLog,
  kSqrt,
  kRsqrt,
  kSquare,
  kSigmoid,
  kSigmoidBackward,
  kSilu,
  kSiluBackward,
  kWhere,  // a != 0 ? b : value
};

LAPTIME_DEVICE float silu_backward(float grad, float x) {
  const float s = 1 / (1 + expf(-x));
  return grad * (s * (1 + x * (1 - s)));
}

LAPTIME_DEVICE float whole_power(float x, int exponent) {
  float result = 1;
  float square = x;
  for (unsigned bits = exponent < 0 ? 0U - static_cast<unsigned>(exponent) : static_cast<unsigned>(exponent); bits != 0;
       bits >>= 1U) {
    if ((bits & 1U) != 0) result *= square;
    square *= square;
  }
  return exponent < 0 ? 1 / result : result;
}

// Evaluates a formula of one or two operands. If the second operand is a constant, it is passed as `b`.
LAPTIME_DEVICE float value_of(Formula formula, float a, float b, float value) {
  switch (formula) {
    case Formula::kAdd: return a + b;
    case Formula::kSub: return a - b;
    case Formula::kMul: return a * b;
    case Formula::kDiv: return a / b;
    case Formula::kPow: return whole_power(a, static_cast<int>(b));
    case Formula::kNeg: return -a;
    case Formula::kExp: return expf(a);
    case Formula::kLog: return logf(a);
    case Formula::kSqrt: return sqrtf(a);
    case Formula::kRsqrt: return 1 / sqrtf(a);
    case Formula::kSquare: return a * a;
    case Formula::kSigmoid: return 1 / (1 + expf(-a));
    case Formula::kSigmoidBackward: return a * b * (1 - b);
    case Formula::kSilu: return a / (1 + expf(-a));
    case Formula::kSiluBackward: return silu_backward(a, b);
    case Formula::kWhere: return a != 0 ? b : value;
  }
  return 0;
}

// Computes y = formula(a, b), with broadcasting.
struct Pointwise {
  struct Args {
    Elements<3> elements;  // y, a, b; b is absent if `value` replaces it
    Formula formula;
    float value;
    bool in_walked_fours;  // result of walks_in_fours()
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const bool has_second = args.elements.operand[2].data != nullptr;
    const auto body = [&](const float(&in)[2], float(&out)[1]) {
      out[0] = value_of(args.formula, in[0], has_second ? in[1] : args.value, args.value);
    };
    if (args.in_walked_fours) return map_walked_fours<1, 2>(thread, args.elements, body);
    map_elements<1, 2>(thread, args.elements, body);
  }
};
LAPTIME_CUDA_KERNEL(Pointwise, pointwise)

}  // namespace laptime::cuda
