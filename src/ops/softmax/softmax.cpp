// Softmax over the last axis, as it is written out: subtract the maximum, exponentiate, divide by the sum.
#include "ops/softmax/softmax.h"

#include <algorithm>
#include <cmath>

#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"

namespace laptime {
namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(in[0].dtype, in[0].shape())};
}

std::vector<TensorType> infer_backward(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(in[1].dtype, in[1].shape())};
}

void reference(const OpCall& call) {
  const TensorView& x = call.in[0];
  const int64_t columns = x.shape().back();
  for (int64_t row = 0; row < x.numel() / columns; ++row) {
    double largest = x.at(row * columns);
    for (int64_t i = 1; i < columns; ++i) largest = std::max(largest, x.at(row * columns + i));
    double total = 0;
    for (int64_t i = 0; i < columns; ++i) total += std::exp(x.at(row * columns + i) - largest);
    for (int64_t i = 0; i < columns; ++i) {
      call.out[0].put(row * columns + i, std::exp(x.at(row * columns + i) - largest) / total);
    }
  }
}

void reference_backward(const OpCall& call) {
  const TensorView& grad = call.in[0];
  const TensorView& y = call.in[1];
  const int64_t columns = y.shape().back();
  for (int64_t row = 0; row < y.numel() / columns; ++row) {
    double sum = 0;
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i) sum += grad.at(i) * y.at(i);
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i) call.out[0].put(i, y.at(i) * (grad.at(i) - sum));
  }
}

void gradient(GradientContext& c) { c.grad_in[0] = c.build.emit_one(kSoftmaxBackward, {}, {c.grad_out[0], c.out[0]}); }

std::vector<ValueId> decompose(Builder& build, const Attributes&, std::span<const ValueId> in) {
  const auto frame = build.frame("softmax");
  build.hold(in[0], "x");  // the caller's argument lives until the function returns
  const ValueId e = exp(build, sub(build, in[0], max_last(build, in[0])[0]));
  return {div(build, e, sum(build, e, {build.shape(e).rank() - 1}))};
}

}  // namespace

const OpCard kSoftmax = {.name = "softmax",
                         .kind = OpKind::kReduction,
                         .infer = infer,
                         .gradient = gradient,
                         .flops = [](const Signature& s) { return 5.0 * static_cast<double>(s.out[0].numel()); },
                         .autocast = Autocast::kFloat32,
                         .reference = reference,
                         .decompose = decompose,
                         .may_overwrite = {{0, 0}}};
const OpCard kSoftmaxBackward = {
    .name = "softmax_backward",
    .kind = OpKind::kReduction,
    .infer = infer_backward,
    .flops = [](const Signature& s) { return 4.0 * static_cast<double>(s.out[0].numel()); },
    .reference = reference_backward,
    .may_overwrite = {{0, 0}, {0, 1}}};

std::span<const OpCard* const> softmax_cards() {
  static constexpr const OpCard* kCards[] = {&kSoftmax, &kSoftmaxBackward};
  return kCards;
}

ValueId softmax(Builder& build, ValueId x) { return build.emit_one(kSoftmax, {}, {x}); }

}  // namespace laptime
