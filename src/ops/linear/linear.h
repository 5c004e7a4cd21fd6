// Linear layer: y = x W^T (+ bias) (+ addend).
#pragma once

#include "graph/builder.h"
#include "ops/matmul/matmul.h"

namespace laptime {

// How the model writes the layer: with einsum, which torch runs as a batched product with one batch, or with
// torch.nn.functional.linear, which is a plain product.
enum class LinearForm : uint8_t { kEinsum, kLinear };
const char* name_of(LinearForm form);

// (x [..., I], weight [O, I][, bias [O]][, addend [..., O]]) -> y [..., O]; x has at least two axes.
extern const OpCard kLinear;

struct LinearAttributes {
  LinearForm form = LinearForm::kEinsum;
  ProductAttributes product{};
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("form", self.form);
    ProductAttributes::visit_fields(self.product, visit);
  }
};

ValueId linear(Builder& build, ValueId x, ValueId weight, ValueId bias, LinearForm form);  // bias may be invalid

std::span<const OpCard* const> linear_cards();

}  // namespace laptime
