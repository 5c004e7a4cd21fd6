// Independent accumulators for the loops that measure peak rates: enough to hide the latency of a multiply-add.
#pragma once

#include "backend/cpu/vector/vectors.h"

namespace laptime::LAPTIME_ISA {

// A latency of four cycles on two ports needs eight accumulators. Twelve of them and two operands still fit into 16
// registers.
constexpr int kAccumulators = 12;
using Accumulators = std::array<Vector, kAccumulators>;

// Starts every accumulator with a different value, because the compiler would merge equal accumulators.
inline Accumulators accumulators_from(float value) {
  Accumulators accumulators;
  for (int i = 0; i < kAccumulators; ++i)
    accumulators[static_cast<size_t>(i)] = Vector{} + value * static_cast<float>(i);
  return accumulators;
}

// A number that depends on all accumulators, so that none is optimised away.
inline float sum_of(const Accumulators& accumulators) {
  Vector total{};
  for (const Vector& accumulator : accumulators) total += accumulator;
  return total[0];
}

}  // namespace laptime::LAPTIME_ISA
