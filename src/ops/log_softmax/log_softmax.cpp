// Cards of log_softmax.
#include "ops/log_softmax/log_softmax.h"

#include <algorithm>
#include <cmath>

namespace laptime {
namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(in[0].dtype, in[0].shape())};
}

void reference(const OpCall& call) {
  const TensorView& x = call.in[0];
  const int64_t columns = x.shape().back();
  for (int64_t row = 0; row < x.numel() / columns; ++row) {
    double largest = x.at(row * columns);
    for (int64_t i = 1; i < columns; ++i) largest = std::max(largest, x.at(row * columns + i));
    double total = 0;
    for (int64_t i = 0; i < columns; ++i) total += std::exp(x.at(row * columns + i) - largest);
    for (int64_t i = 0; i < columns; ++i)
      call.out[0].put(row * columns + i, x.at(row * columns + i) - largest - std::log(total));
  }
}

void reference_backward(const OpCall& call) {
  const TensorView& grad = call.in[0];
  const TensorView& y = call.in[1];
  const int64_t columns = y.shape().back();
  for (int64_t row = 0; row < y.numel() / columns; ++row) {
    double total = 0;
    for (int64_t i = 0; i < columns; ++i) total += grad.at(row * columns + i);
    for (int64_t i = 0; i < columns; ++i) {
      call.out[0].put(row * columns + i, grad.at(row * columns + i) - std::exp(y.at(row * columns + i)) * total);
    }
  }
}

void gradient(GradientContext& c) {
  c.grad_in[0] = c.build.emit_one(kLogSoftmaxBackward, {}, {c.grad_out[0], c.out[0]});
}

double five_flops(const Signature& s) { return 5.0 * static_cast<double>(s.out[0].numel()); }

}  // namespace

const OpCard kLogSoftmax = {.name = "log_softmax",
                            .kind = OpKind::kReduction,
                            .infer = infer,
                            .gradient = gradient,
                            .flops = five_flops,
                            .autocast = Autocast::kFloat32,
                            .reference = reference};
const OpCard kLogSoftmaxBackward = {.name = "log_softmax_backward",
                                    .kind = OpKind::kReduction,
                                    .infer = infer,
                                    .flops = five_flops,
                                    .reference = reference_backward};

std::span<const OpCard* const> log_softmax_cards() {
  static constexpr const OpCard* kCards[] = {&kLogSoftmax, &kLogSoftmaxBackward};
  return kCards;
}

ValueId log_softmax(Builder& build, ValueId x) { return build.emit_one(kLogSoftmax, {}, {x}); }

}  // namespace laptime
