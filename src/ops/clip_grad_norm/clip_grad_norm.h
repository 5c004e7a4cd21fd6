// Clipping by the global norm of all gradients.
#pragma once

#include "graph/builder.h"

namespace laptime {

// (norm float32 []) -> min(1, max_norm / (norm + 1e-6)), float32 []
extern const OpCard kClipCoefficient;

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
ClippedGradients clip_grad_norm(Builder& build, std::span<const ValueId> gradients, double max_norm);

std::span<const OpCard* const> clip_grad_norm_cards();

}  // namespace laptime
