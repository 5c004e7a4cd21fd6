// Cards of the matrix products.
#include "ops/matmul/matmul.h"

#include "graph/structural_ops.h"

namespace laptime {
namespace {

Shape product_shape(const Shape& a, const Shape& b) {
  LAPTIME_CHECK(a.rank() == b.rank() && (a.rank() == 2 || a.rank() == 3) && a[-1] == b[-2], "cannot multiply {} by {}",
                a.text(), b.text());
  if (a.rank() == 2) return {a[0], b[1]};
  LAPTIME_CHECK(a[0] == b[0], "cannot multiply {} by {}", a.text(), b.text());
  return {a[0], a[1], b[2]};
}

// Output type of matmul (a, b[, addend]) or addmm (bias, a, b[, addend]).
std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> in, bool has_bias) {
  const ProductAttributes product = product_attributes(attributes);
  const size_t first = has_bias ? 1 : 0;
  LAPTIME_CHECK(in.size() == first + 2 + (product.addend ? 1 : 0), "wrong number of inputs: {}", in.size());
  const TensorType& a = in[first];
  const TensorType& b = in[first + 1];
  const Shape shape = product_shape(a.shape(), b.shape());
  if (has_bias)
    LAPTIME_CHECK(in[0].shape() == Shape{shape.back()}, "bias {} does not match result {}", in[0].shape().text(),
                  shape.text());
  if (product.addend)
    LAPTIME_CHECK(in.back().shape() == shape, "addend {} does not match result {}", in.back().shape().text(),
                  shape.text());
  return {product.result_type(product.output_type(a.dtype, b.dtype, product.addend ? &in.back() : nullptr), shape)};
}
std::vector<TensorType> infer_matmul(const Attributes& attributes, std::span<const TensorType> in) {
  return infer(attributes, in, false);
}
std::vector<TensorType> infer_addmm(const Attributes& attributes, std::span<const TensorType> in) {
  return infer(attributes, in, true);
}

double matmul_flops(const Signature& s) {
  return 2.0 * static_cast<double>(s.out[0].numel()) * static_cast<double>(s.in[0].shape().back());
}
double addmm_flops(const Signature& s) {
  return 2.0 * static_cast<double>(s.out[0].numel()) * static_cast<double>(s.in[1].shape().back());
}

void reference(const OpCall& call, bool has_bias) {
  const ProductAttributes product = product_attributes(call.attributes);
  const TensorView& a = call.in[has_bias ? 1 : 0];
  const TensorView& b = call.in[has_bias ? 2 : 1];
  const TensorView& out = call.out[0];
  const int64_t m = a.shape()[-2];
  const int64_t k = a.shape()[-1];
  const int64_t n = b.shape()[-1];
  const int64_t batches = out.numel() / (m * n);
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const int64_t at = (batch * m + i) * n + j;
        double sum = has_bias ? product.operand(call.in[0].at(j)) : 0;
        if (product.addend) sum += call.in.back().at(at);
        for (int64_t l = 0; l < k; ++l)
          sum += product.operand(a.at((batch * m + i) * k + l)) * product.operand(b.at((batch * k + l) * n + j));
        out.put(at, sum);
      }
    }
  }
}
void reference_matmul(const OpCall& call) { reference(call, false); }
void reference_addmm(const OpCall& call) { reference(call, true); }

bool column_major(const TensorType& type) {
  return type.layout.strides[-2] == 1 && type.layout.strides[-1] >= type.shape()[-2] && type.shape()[-1] > 1;
}

ValueId transposed(Builder& build, ValueId x) { return transpose(build, x, -2, -1); }

// As in torch, the gradient of a factor of torch.mm has the factor's memory order, so that the gradient of a weight
// needs no copy. This does not apply to torch.bmm.
ValueId grad_left(Builder& build, ValueId grad, ValueId a, ValueId b) {
  if (build.shape(a).rank() == 2 && column_major(build.type(a)))
    return transposed(build, matmul(build, b, transposed(build, grad)));
  return matmul(build, grad, transposed(build, b));
}
ValueId grad_right(Builder& build, ValueId grad, ValueId a, ValueId b) {
  if (build.shape(b).rank() == 2 && column_major(build.type(b)))
    return transposed(build, matmul(build, transposed(build, grad), a));
  return matmul(build, transposed(build, a), grad);
}

// The factors of the gradient products, in the compute type of the forward product, which a folded cast may have
// narrowed.
struct GradientFactors {
  ValueId grad, a, b;
};
GradientFactors gradient_factors(GradientContext& c, size_t first) {
  const DType dtype =
      product_attributes(c.attributes).compute_type(c.build.dtype(c.in[first]), c.build.dtype(c.in[first + 1]));
  return {cast(c.build, c.grad_out[0], dtype), cast(c.build, c.in[first], dtype),
          cast(c.build, c.in[first + 1], dtype)};
}

void gradient_matmul(GradientContext& c) {
  const bool plain = c.build.shape(c.in[0]).rank() == 2;
  const GradientFactors factors = gradient_factors(c, 0);
  const auto left = [&] {
    if (c.wanted[0]) c.grad_in[0] = grad_left(c.build, factors.grad, factors.a, factors.b);
  };
  const auto right = [&] {
    if (c.wanted[1]) c.grad_in[1] = grad_right(c.build, factors.grad, factors.a, factors.b);
  };
  plain ? (left(), right()) : (right(), left());
  if (c.in.size() > 2 && c.wanted[2]) c.grad_in[2] = c.grad_out[0];
}

void gradient_addmm(GradientContext& c) {
  const GradientFactors factors = gradient_factors(c, 1);
  if (c.wanted[1]) c.grad_in[1] = grad_left(c.build, factors.grad, factors.a, factors.b);
  if (c.wanted[2]) c.grad_in[2] = grad_right(c.build, factors.grad, factors.a, factors.b);
  if (c.wanted[0]) c.grad_in[0] = c.grad_out[0];  // the differentiate pass sums over the rows
  if (c.in.size() > 3 && c.wanted[3]) c.grad_in[3] = c.grad_out[0];
}

std::optional<Attributes> as_attributes(const std::optional<ProductAttributes>& product) {
  if (!product) return std::nullopt;
  return Attributes(*product);
}

// Folds casts of the first `operands` inputs, which precede the addend.
template <int operands>
std::optional<Attributes> fold_input_cast(const Attributes& attributes, int input, DType to) {
  if (input >= operands) return std::nullopt;
  return as_attributes(product_attributes(attributes).with_operand_cast(to));
}
std::optional<Attributes> fold_output_cast(const Attributes& attributes, int, DType to) {
  return as_attributes(product_attributes(attributes).with_result_cast(to));
}

std::optional<Attributes> fold_addend(const Attributes& attributes) {
  ProductAttributes product = product_attributes(attributes);
  if (product.addend) return std::nullopt;
  product.addend = true;
  return Attributes(product);
}

std::optional<Attributes> pad_rows(const Attributes& attributes) {
  return as_attributes(product_attributes(attributes).with_padded_rows());
}

// True if kernels can round factors and results to this type.
bool foldable(DType to) { return to == DType::kFloat32 || is_16_bit_float(to); }

}  // namespace

ProductAttributes product_attributes(const Attributes& attributes) {
  return attributes.empty() ? ProductAttributes() : attributes.as<ProductAttributes>();
}

double ProductAttributes::operand(double value) const {
  if (compute == DType::kBFloat16) return static_cast<float>(BFloat16(static_cast<float>(value)));
  if (compute == DType::kFloat16) return static_cast<float>(Float16(static_cast<float>(value)));
  return compute == DType::kFloat32 ? static_cast<float>(value) : value;
}

// All factors have the same compute type, so a cast can be folded only if it agrees with earlier casts.
std::optional<ProductAttributes> ProductAttributes::with_operand_cast(DType to) const {
  if (!foldable(to) || compute.value_or(to) != to) return std::nullopt;
  ProductAttributes folded = *this;
  folded.compute = to;
  return folded;
}

// Results are rounded only once, so a cast to a second type cannot be folded.
std::optional<ProductAttributes> ProductAttributes::with_result_cast(DType to) const {
  if (!foldable(to) || output.value_or(to) != to) return std::nullopt;
  ProductAttributes folded = *this;
  folded.output = to;
  return folded;
}

std::optional<ProductAttributes> ProductAttributes::with_padded_rows() const {
  if (addend) return std::nullopt;
  ProductAttributes rows = *this;
  rows.padded = true;
  return rows;
}

// The result may overwrite the addend: each element is read before it is written, by the same thread.
const OpCard kMatmul = {.name = "matmul",
                        .kind = OpKind::kContraction,
                        .infer = infer_matmul,
                        .gradient = gradient_matmul,
                        .flops = matmul_flops,
                        .autocast = Autocast::kLower,
                        .reference = reference_matmul,
                        .fold_input_cast = fold_input_cast<2>,
                        .fold_output_cast = fold_output_cast,
                        .fold_addend = fold_addend,
                        .pad_rows = pad_rows,
                        .reads_padded_rows = {0, 1},
                        .may_overwrite = {{0, 2}}};
const OpCard kAddmm = {.name = "addmm",
                       .kind = OpKind::kContraction,
                       .infer = infer_addmm,
                       .gradient = gradient_addmm,
                       .flops = addmm_flops,
                       .autocast = Autocast::kLower,
                       .reference = reference_addmm,
                       .fold_input_cast = fold_input_cast<3>,
                       .fold_output_cast = fold_output_cast,
                       .fold_addend = fold_addend,
                       .pad_rows = pad_rows,
                       .reads_padded_rows = {1, 2},
                       .may_overwrite = {{0, 3}}};

std::span<const OpCard* const> matmul_cards() {
  static constexpr const OpCard* kCards[] = {&kMatmul, &kAddmm};
  return kCards;
}

ValueId matmul(Builder& build, ValueId a, ValueId b) { return build.emit_one(kMatmul, {}, {a, b}); }
ValueId addmm(Builder& build, ValueId bias, ValueId a, ValueId b) { return build.emit_one(kAddmm, {}, {bias, a, b}); }

}  // namespace laptime
