// Dropout (Srivastava et al. 2014). The mask comes from a counter-based generator keyed by seed, step and place, so it
// is the same for any number of threads and when forward is recomputed.
#pragma once

#include "graph/builder.h"
#include "ops/dropout_key.h"

namespace laptime {

// (x [...], step int64 []) -> (y [...] = x mask / (1 - p), mask bool [...]). Element i is kept if the top 24 bits of
// splitmix64(key + i), times 2^-24, are at least p; key = splitmix64(splitmix64(seed + step) XOR place) + first.
extern const OpCard kDropout;
// (grad_y [...], mask bool [...]) -> grad_x [...] = grad_y mask / (1 - p)
extern const OpCard kDropoutBackward;

struct DropoutAttributes {
  double p = 0;  // probability that an element becomes zero
  uint64_t seed = 0;
  uint64_t place = 0;  // hash of the scope in the model
  int64_t first = 0;   // index of this rank's first element, in a tensor divided among ranks
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("p", self.p);
    visit("seed", self.seed);
    visit("place", self.place);
    if (self.first != 0) visit("first", self.first);
  }
  constexpr DropoutCounter counter() const { return {seed, place, first}; }
};

constexpr bool dropout_keeps(uint64_t key, int64_t element, double p) {
  return static_cast<double>(splitmix64(key + static_cast<uint64_t>(element)) >> 40U) * 0x1p-24 >= p;
}
// The factor by which kept elements are scaled.
constexpr double dropout_scale(double p) { return p >= 1 ? 0 : 1 / (1 - p); }
// The smallest value of the top 24 random bits for which dropout_keeps is true.
constexpr uint32_t dropout_threshold(double p) {
  const auto whole = static_cast<uint32_t>(p * 0x1p24);
  return static_cast<double>(whole) < p * 0x1p24 ? whole + 1 : whole;
}

// Emits dropout whose place is the builder's current scope. x contains the rows of `rank`; all ranks have the same
// number of rows.
ValueId dropout(Builder& build, ValueId x, ValueId step, double p, uint64_t seed, int64_t rank = 0);

std::span<const OpCard* const> dropout_cards();

}  // namespace laptime
