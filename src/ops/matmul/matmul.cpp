// Cards of the matrix products.
#include "ops/matmul/matmul.h"

#include "graph/structural_ops.h"

namespace laptime {
namespace {

Shape product_shape(const Shape& a, const Shape& b) {
  LAPTIME_CHECK(a.rank() == b.rank() && (a.rank() == 2 || a.rank() == 3) && a[-1] == b[-2], "{} by {}", a.text(),
                b.text());
  if (a.rank() == 2) return {a[0], b[1]};
  LAPTIME_CHECK(a[0] == b[0], "{} by {}", a.text(), b.text());
  return {a[0], a[1], b[2]};
}

std::vector<TensorType> infer_matmul(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(promote(in[0].dtype, in[1].dtype), product_shape(in[0].shape(), in[1].shape()))};
}

std::vector<TensorType> infer_addmm(const Attributes&, std::span<const TensorType> in) {
  const Shape shape = product_shape(in[1].shape(), in[2].shape());
  LAPTIME_CHECK(in[0].shape() == Shape{shape.back()}, "bias {} of {}", in[0].shape().text(), shape.text());
  return {contiguous_type(promote(in[1].dtype, in[2].dtype), shape)};
}

double matmul_flops(const Signature& s) {
  return 2.0 * static_cast<double>(s.out[0].numel()) * static_cast<double>(s.in[0].shape().back());
}
double addmm_flops(const Signature& s) {
  return 2.0 * static_cast<double>(s.out[0].numel()) * static_cast<double>(s.in[1].shape().back());
}

void product_reference(const TensorView& a, const TensorView& b, const TensorView* bias, const TensorView& out) {
  const int64_t m = a.shape()[-2];
  const int64_t k = a.shape()[-1];
  const int64_t n = b.shape()[-1];
  const int64_t batches = out.numel() / (m * n);
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double total = bias == nullptr ? 0 : bias->at(j);
        for (int64_t l = 0; l < k; ++l) total += a.at((batch * m + i) * k + l) * b.at((batch * k + l) * n + j);
        out.put((batch * m + i) * n + j, total);
      }
    }
  }
}

void reference_matmul(const OpCall& call) { product_reference(call.in[0], call.in[1], nullptr, call.out[0]); }
void reference_addmm(const OpCall& call) { product_reference(call.in[1], call.in[2], &call.in[0], call.out[0]); }

bool column_major(const TensorType& type) {
  return type.layout.strides[-2] == 1 && type.layout.strides[-1] >= type.shape()[-2] && type.shape()[-1] > 1;
}

ValueId transposed(Builder& build, ValueId x) { return transpose(build, x, -2, -1); }

// The gradient of a factor of a plain product keeps that factor's memory order, so that a weight's gradient needs no
// copy; of a batched one it does not, as in torch.mm and torch.bmm.
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

void gradient_matmul(GradientContext& c) {
  const bool plain = c.build.shape(c.in[0]).rank() == 2;
  const auto left = [&] {
    if (c.wanted[0]) c.grad_in[0] = grad_left(c.build, c.grad_out[0], c.in[0], c.in[1]);
  };
  const auto right = [&] {
    if (c.wanted[1]) c.grad_in[1] = grad_right(c.build, c.grad_out[0], c.in[0], c.in[1]);
  };
  plain ? (left(), right()) : (right(), left());
}

void gradient_addmm(GradientContext& c) {
  if (c.wanted[1]) c.grad_in[1] = grad_left(c.build, c.grad_out[0], c.in[1], c.in[2]);
  if (c.wanted[2]) c.grad_in[2] = grad_right(c.build, c.grad_out[0], c.in[1], c.in[2]);
  if (c.wanted[0]) c.grad_in[0] = c.grad_out[0];  // the pass sums over the rows
}

}  // namespace

const OpCard kMatmul = {.name = "matmul",
                        .kind = OpKind::kContraction,
                        .infer = infer_matmul,
                        .gradient = gradient_matmul,
                        .flops = matmul_flops,
                        .autocast = Autocast::kLower,
                        .reference = reference_matmul};
const OpCard kAddmm = {.name = "addmm",
                       .kind = OpKind::kContraction,
                       .infer = infer_addmm,
                       .gradient = gradient_addmm,
                       .flops = addmm_flops,
                       .autocast = Autocast::kLower,
                       .reference = reference_addmm};

std::span<const OpCard* const> matmul_cards() {
  static constexpr const OpCard* kCards[] = {&kMatmul, &kAddmm};
  return kCards;
}

ValueId matmul(Builder& build, ValueId a, ValueId b) { return build.emit_one(kMatmul, {}, {a, b}); }
ValueId addmm(Builder& build, ValueId bias, ValueId a, ValueId b) { return build.emit_one(kAddmm, {}, {bias, a, b}); }

}  // namespace laptime
