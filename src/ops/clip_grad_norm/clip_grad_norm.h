// Clipping by the global norm of all gradients (Pascanu et al. 2013): g *= min(1, max_norm / (norm + 1e-6)).
#pragma once

#include "graph/builder.h"

namespace laptime {

// (norm float32 []) -> float32 []: min(1, max_norm / (norm + kClipNormEpsilon))
extern const OpCard kClipCoefficient;
constexpr double kClipNormEpsilon = 1e-6;

struct ClipAttributes {
  double max_norm = 1;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("max_norm", self.max_norm);
  }
};

struct ClippedGradients {
  ValueId norm;  // [], before clipping
  std::vector<ValueId> gradients;
};
inline constexpr const char* kClipScope = "clip_grad_norm";  // scope of nodes that process all gradients together

// Returns the sum of the squares of all elements, shape []. Here and in clip_to, the nodes of gradient i take the scope
// of the value `scopes[i]`.
ValueId squared_norm(Builder& build, std::span<const ValueId> gradients, std::span<const ValueId> scopes);
// Clips the gradients, given the square of their norm.
ClippedGradients clip_to(Builder& build, std::span<const ValueId> gradients, std::span<const ValueId> scopes,
                         ValueId squared_norm, double max_norm);

std::span<const OpCard* const> clip_grad_norm_cards();

}  // namespace laptime
