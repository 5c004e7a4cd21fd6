// Chains of multiply-adds that depend on nothing but themselves, enough of them to hide the latency of one.
#pragma once

#include "backend/cpu/vector/vectors.h"

namespace laptime::LAPTIME_ISA {

constexpr int kChains = 12;  // with two operands they fit 16 registers; four cycles on two ports need eight
using Chains = std::array<Vector, kChains>;

// Each begins elsewhere: equal chains a compiler would make one.
inline Chains chains_from(float value) {
  Chains chains;
  for (int i = 0; i < kChains; ++i) chains[static_cast<size_t>(i)] = Vector{} + value * static_cast<float>(i);
  return chains;
}

// A number that needs all of them.
inline float sum_of(const Chains& chains) {
  Vector total{};
  for (const Vector& chain : chains) total += chain;
  return total[0];
}

}  // namespace laptime::LAPTIME_ISA
