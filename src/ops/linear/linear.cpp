// Card of the linear layer.
#include "ops/linear/linear.h"

#include "graph/structural_ops.h"
#include "ops/pointwise/pointwise.h"

namespace laptime {
namespace {

const ProductAttributes& product_of(const Attributes& attributes) { return attributes.as<LinearAttributes>().product; }

// The index of the bias in an op with `inputs` inputs; 0 if there is no bias.
size_t bias_at(const Attributes& attributes, size_t inputs) {
  return inputs > 2 + (product_of(attributes).addend ? size_t{1} : 0) ? 2 : 0;
}

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> in) {
  LAPTIME_CHECK(in[0].shape().rank() >= 2 && in[0].shape().back() == in[1].shape().back(),
                "x {} does not match weight {}", in[0].text(), in[1].text());
  Shape shape = in[0].shape();
  shape[-1] = in[1].shape()[0];
  const ProductAttributes& product = product_of(attributes);
  const bool addend = product.addend;
  if (addend)
    LAPTIME_CHECK(in.back().shape() == shape, "addend {} does not match result {}", in.back().shape().text(),
                  shape.text());
  return {product.result_type(product.output_type(in[0].dtype, in[1].dtype, addend ? &in.back() : nullptr), shape)};
}

void reference(const OpCall& call) {
  const ProductAttributes& product = product_of(call.attributes);
  const size_t bias = bias_at(call.attributes, call.in.size());
  const int64_t inner = call.in[1].shape()[1];
  const int64_t outer = call.in[1].shape()[0];
  for (int64_t i = 0; i < call.out[0].numel(); ++i) {
    double sum = bias > 0 ? product.operand(call.in[bias].at(i % outer)) : 0;
    if (product.addend) sum += call.in.back().at(i);
    for (int64_t k = 0; k < inner; ++k) {
      sum +=
          product.operand(call.in[0].at(i / outer * inner + k)) * product.operand(call.in[1].at(i % outer * inner + k));
    }
    call.out[0].put(i, sum);
  }
}

// Reshapes x [..., C] to a matrix [rows, C].
ValueId rows_of(Builder& build, ValueId x) {
  const Shape shape = build.shape(x);
  return reshape(build, x, {shape.product() / shape.back(), shape.back()});
}

bool column_major(const TensorType& type) { return type.layout.strides[0] == 1 && type.layout.strides[1] > 1; }

// Emits grad_x = grad W and grad_W = grad^T x over the rows of x; grad_W has the memory order of W.
void gradient(GradientContext& c) {
  Builder& build = c.build;
  const DType dtype = product_of(c.attributes).compute_type(build.dtype(c.in[0]), build.dtype(c.in[1]));
  const ValueId grad = rows_of(build, c.grad_out[0]);
  const ValueId factor = cast(build, grad, dtype);
  const auto emit_grad_x = [&] {
    if (!c.wanted[0]) return;
    c.grad_in[0] = reshape(build, matmul(build, factor, cast(build, c.in[1], dtype)), build.shape(c.in[0]));
  };
  if (!c.weights_first) emit_grad_x();
  if (c.wanted[1]) {
    const ValueId x = cast(build, rows_of(build, c.in[0]), dtype);
    c.grad_in[1] = column_major(build.type(c.in[1]))
                       ? transpose(build, matmul(build, transpose(build, x, 0, 1), factor), 0, 1)
                       : matmul(build, transpose(build, factor, 0, 1), x);
  }
  if (c.weights_first) emit_grad_x();
  if (const size_t bias = bias_at(c.attributes, c.in.size()); bias > 0 && c.wanted[bias])
    c.grad_in[bias] = grad;  // the differentiate pass sums over the rows
  if (product_of(c.attributes).addend && c.wanted.back()) c.grad_in.back() = c.grad_out[0];
}

std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const Shape& shape = build.shape(in[0]);
  const int64_t inner = shape.back();
  const int64_t outer = build.shape(in[1])[0];
  const int64_t rows = shape.product() / inner;
  const ProductAttributes& product = product_of(attributes);
  const size_t bias = bias_at(attributes, in.size());
  const auto operand = [&](ValueId value) { return product.compute ? cast(build, value, *product.compute) : value; };
  Shape result_shape = shape;
  result_shape[-1] = outer;
  ValueId y;
  const ValueId weight = transpose(build, operand(in[1]), 0, 1);
  if (attributes.as<LinearAttributes>().form == LinearForm::kEinsum) {
    y = matmul(build, reshape(build, operand(in[0]), {1, rows, inner}), reshape(build, weight, {1, inner, outer}));
  } else {
    const ValueId x = reshape(build, operand(in[0]), {rows, inner});
    y = bias > 0 ? addmm(build, operand(in[bias]), x, weight) : matmul(build, x, weight);
  }
  y = reshape(build, y, result_shape);
  if (product.addend) y = add(build, y, in.back());
  return {product.output ? cast(build, y, *product.output) : y};
}

// Input 2 is a bias or the addend. Addends are not rounded, so a cast of an addend is not folded.
std::optional<Attributes> fold_input_cast(const Attributes& attributes, int input, DType to) {
  if (input > 2 || (input == 2 && product_of(attributes).addend)) return std::nullopt;
  const std::optional<ProductAttributes> product = product_of(attributes).with_operand_cast(to);
  if (!product) return std::nullopt;
  return LinearAttributes{attributes.as<LinearAttributes>().form, *product};
}
std::optional<Attributes> fold_output_cast(const Attributes& attributes, int, DType to) {
  const std::optional<ProductAttributes> product = product_of(attributes).with_result_cast(to);
  if (!product) return std::nullopt;
  return LinearAttributes{attributes.as<LinearAttributes>().form, *product};
}

std::optional<Attributes> fold_addend(const Attributes& attributes) {
  LinearAttributes folded = attributes.as<LinearAttributes>();
  if (folded.product.addend) return std::nullopt;
  folded.product.addend = true;
  return folded;
}

std::optional<Attributes> pad_rows(const Attributes& attributes) {
  const std::optional<ProductAttributes> product = product_of(attributes).with_padded_rows();
  if (!product) return std::nullopt;
  return LinearAttributes{attributes.as<LinearAttributes>().form, *product};
}

}  // namespace

const char* name_of(LinearForm form) { return form == LinearForm::kEinsum ? "einsum" : "linear"; }

// The result may overwrite the addend, which is input 2 or 3. A bias never has the shape of the result.
const OpCard kLinear = {.name = "linear",
                        .kind = OpKind::kContraction,
                        .infer = infer,
                        .gradient = gradient,
                        .flops =
                            [](const Signature& s) {
                              return 2.0 * static_cast<double>(s.out[0].numel()) *
                                     static_cast<double>(s.in[1].shape()[1]);
                            },
                        .autocast = Autocast::kLower,
                        .reference = reference,
                        .decompose = decompose,
                        .fold_input_cast = fold_input_cast,
                        .fold_output_cast = fold_output_cast,
                        .fold_addend = fold_addend,
                        .pad_rows = pad_rows,
                        .reads_padded_rows = {0, 1},
                        .may_overwrite = {{0, 2}, {0, 3}}};

std::span<const OpCard* const> linear_cards() {
  static constexpr const OpCard* kCards[] = {&kLinear};
  return kCards;
}

ValueId linear(Builder& build, ValueId x, ValueId weight, ValueId bias, LinearForm form) {
  LAPTIME_CHECK(!bias.valid() || form == LinearForm::kLinear, "einsum takes no bias");
  std::vector<ValueId> inputs{x, weight};
  if (bias.valid()) inputs.push_back(bias);
  return build.emit(kLinear, LinearAttributes{form, {}}, inputs)[0];
}

}  // namespace laptime
