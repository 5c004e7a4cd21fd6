// Normalisation over the last axis: layer norm and RMSNorm.
#pragma once

#include "graph/builder.h"

namespace laptime {

// Layer norm (Ba et al. 2016): y = (x - mean(x)) rstd weight + bias, rstd = 1 / sqrt(mean((x - mean(x))^2) + eps).
// (x [..., C], weight [C], bias [C]) -> (y [..., C], mean [..., 1], rstd [..., 1]); statistics: accumulation_type(x)
extern const OpCard kLayerNorm;
// (grad_y [..., C], x [..., C], mean [..., 1], rstd [..., 1], weight [C][, addend [..., C]])
//   -> (grad_x [..., C] + addend, grad_weight [C], grad_bias [C])
extern const OpCard kLayerNormBackward;

// RMSNorm (Zhang and Sennrich 2019): y = x rstd weight, rstd = 1 / sqrt(mean(x^2) + eps).
// (x [..., C], weight [C]) -> (y [..., C], rstd [..., 1]); rstd: accumulation_type(x)
extern const OpCard kRmsNorm;
// (grad_y [..., C], x [..., C], rstd [..., 1], weight [C][, addend [..., C]])
//   -> (grad_x [..., C] + addend, grad_weight [C])
extern const OpCard kRmsNormBackward;

struct LayerNormAttributes {
  static constexpr bool kCentred = true;  // subtracts the mean and adds a bias
  double eps = 1e-5;
  std::optional<DType> y_dtype{};  // if absent, the type of x
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("eps", self.eps);
    visit("y_dtype", self.y_dtype);
  }
};

struct RmsNormAttributes {
  static constexpr bool kCentred = false;
  double eps = 1e-5;
  std::optional<DType> y_dtype{};  // if absent, the type of x or, with `weighs_last`, the promoted type of x and weight
  bool weighs_last = false;        // if lowered, rounds x rstd to the type of x before multiplying by the weight
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("eps", self.eps);
    visit("y_dtype", self.y_dtype);
    if (self.weighs_last) visit("weighs_last", self.weighs_last);
  }
};

struct NormBackwardAttributes {
  // True if the last input, the gradient that bypasses the norm along a residual stream, is added to grad_x.
  bool addend = false;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("addend", self.addend);
  }
};

ValueId layer_norm(Builder& build, ValueId x, ValueId weight, ValueId bias, double eps);
ValueId rms_norm(Builder& build, ValueId x, ValueId weight, double eps, bool weighs_last = false);

std::span<const OpCard* const> norm_cards();

}  // namespace laptime
