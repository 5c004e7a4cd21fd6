// Loss scaling (Micikevicius et al. 2018): divides the gradients of a scaled loss by the scale, skips steps whose
// gradients overflow, and adapts the scale.
#pragma once

#include "graph/builder.h"

namespace laptime {

// (grad [...], scale float32 [], found_inf bool []) -> (grad / scale [...], found_inf bool []): the second result is
// true if an element of grad is not finite or the input found_inf is true
extern const OpCard kUnscaleGradient;
// (applied int64 [], found_inf bool []) -> applied int64 [], updated in place: incremented unless found_inf
extern const OpCard kCountApplied;
// (scale float32 [], good_steps int64 [], found_inf bool []) -> (scale, good_steps), updated in place as in
// torch.amp.GradScaler: after an overflow, scale *= backoff_factor; after growth_interval consecutive good steps, scale
// *= growth_factor, unless the result is infinite
extern const OpCard kUpdateLossScale;
// (state [...], value [...], skip bool []) -> state [...], updated in place: set to the value unless skip
extern const OpCard kAssignUnless;

// The defaults are those of torch.amp.GradScaler.
struct LossScaleAttributes {
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  int64_t growth_interval = 2000;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("growth_factor", self.growth_factor);
    visit("backoff_factor", self.backoff_factor);
    visit("growth_interval", self.growth_interval);
  }
};

struct UnscaledGradients {
  std::vector<ValueId> gradients;
  ValueId found_inf;  // bool []
};
// Unscales the gradients one after the other. The node of gradient i takes the scope of the value `scopes[i]`.
UnscaledGradients unscale(Builder& build, std::span<const ValueId> gradients, ValueId scale,
                          std::span<const ValueId> scopes);
ValueId count_applied(Builder& build, ValueId applied, ValueId found_inf);
void update_loss_scale(Builder& build, ValueId scale, ValueId good_steps, ValueId found_inf,
                       const LossScaleAttributes& attributes = {});
ValueId assign_unless(Builder& build, ValueId state, ValueId value, ValueId skip);

std::span<const OpCard* const> loss_scale_cards();

}  // namespace laptime
