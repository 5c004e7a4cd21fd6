// Matrix products: plain, batched, and with a bias. Transposition is expressed by strides.
#pragma once

#include <optional>

#include "graph/builder.h"

namespace laptime {

// The types in which a product is computed and stored, and whether another matrix is added. Products of an eager step
// have no attributes.
struct ProductAttributes {
  // The type to which factors and bias are rounded before the product; if absent, the promoted type of the factors.
  std::optional<DType> compute;
  // The type to which the result is rounded once; if absent, the promoted type of `compute` and the addend.
  std::optional<DType> output;
  // True if the last input, which has the result's shape, is added to the product without rounding.
  bool addend = false;
  bool padded = false;  // the rows of the result are padded (padded_type)

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    if (self.compute) visit("compute", *self.compute);
    if (self.output) visit("output", *self.output);
    if (self.addend) visit("addend", self.addend);
    if (self.padded) visit("padded", self.padded);
  }

  DType compute_type(DType a, DType b) const { return compute.value_or(promote(a, b)); }
  DType output_type(DType a, DType b, const TensorType* addend_type) const {
    const DType own = compute_type(a, b);
    return output.value_or(addend_type == nullptr ? own : promote(own, addend_type->dtype));
  }
  TensorType result_type(DType dtype, const Shape& shape) const {
    return padded ? padded_type(dtype, shape) : contiguous_type(dtype, shape);
  }

  // Returns an element of a factor or of the bias, rounded to `compute`.
  double operand(double value) const;

  // Returns these attributes after a cast of an operand, or of the result, to type `to` is folded in; nothing if that
  // cast cannot be folded.
  std::optional<ProductAttributes> with_operand_cast(DType to) const;
  std::optional<ProductAttributes> with_result_cast(DType to) const;
  // Returns these attributes with a padded result; nothing if there is an addend, which the result should overwrite.
  std::optional<ProductAttributes> with_padded_rows() const;
};
ProductAttributes product_attributes(const Attributes& attributes);  // defaults if there are none

// (a [M, K], b [K, N][, addend [M, N]]) -> [M, N] = a b + addend, or batched
// (a [B, M, K], b [B, K, N][, addend [B, M, N]]) -> [B, M, N]. The result is contiguous or padded. Attributes:
// ProductAttributes, or none.
extern const OpCard kMatmul;
// (bias [N], a [M, K], b [K, N][, addend [M, N]]) -> [M, N] = a b + bias + addend. Layout and attributes as for
// kMatmul.
extern const OpCard kAddmm;

ValueId matmul(Builder& build, ValueId a, ValueId b);
ValueId addmm(Builder& build, ValueId bias, ValueId a, ValueId b);

std::span<const OpCard* const> matmul_cards();

}  // namespace laptime
