// Cards of softmax and log_softmax.
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

// y = formula(x, row_max, row_sum), where row_sum is the sum of exp(x - row_max).
template <double (*formula)(double x, double row_max, double row_sum)>
void reference(const OpCall& call) {
  const TensorView& x = call.in[0];
  const int64_t columns = x.shape().back();
  for (int64_t begin = 0; begin < x.numel(); begin += columns) {
    double row_max = x.at(begin);
    for (int64_t i = begin; i < begin + columns; ++i) row_max = std::max(row_max, x.at(i));
    double row_sum = 0;
    for (int64_t i = begin; i < begin + columns; ++i) row_sum += std::exp(x.at(i) - row_max);
    for (int64_t i = begin; i < begin + columns; ++i) call.out[0].put(i, formula(x.at(i), row_max, row_sum));
  }
}

// grad_x = formula(grad_y, y, row_sum), where row_sum is the sum of term(grad_y, y).
template <double (*term)(double grad, double y), double (*formula)(double grad, double y, double row_sum)>
void reference_backward(const OpCall& call) {
  const TensorView& grad = call.in[0];
  const TensorView& y = call.in[1];
  const int64_t columns = y.shape().back();
  for (int64_t begin = 0; begin < y.numel(); begin += columns) {
    double row_sum = 0;
    for (int64_t i = begin; i < begin + columns; ++i) row_sum += term(grad.at(i), y.at(i));
    for (int64_t i = begin; i < begin + columns; ++i) call.out[0].put(i, formula(grad.at(i), y.at(i), row_sum));
  }
}

void gradient_softmax(GradientContext& c) {
  c.grad_in[0] = c.build.emit_one(kSoftmaxBackward, {}, {c.grad_out[0], c.out[0]});
}
void gradient_log_softmax(GradientContext& c) {
  c.grad_in[0] = c.build.emit_one(kLogSoftmaxBackward, {}, {c.grad_out[0], c.out[0]});
}

std::vector<ValueId> decompose_softmax(Builder& build, const Attributes&, std::span<const ValueId> in) {
  const auto frame = build.frame("softmax");
  build.hold(in[0], "x");  // the caller keeps its argument alive until the function returns
  const ValueId e = exp(build, sub(build, in[0], max_last(build, in[0])[0]));
  return {div(build, e, sum(build, e, {build.shape(e).rank() - 1}))};
}

template <int per_element>
double flops(const Signature& s) {
  return static_cast<double>(per_element) * static_cast<double>(s.out[0].numel());
}

}  // namespace

const OpCard kSoftmax = {
    .name = "softmax",
    .kind = OpKind::kReduction,
    .work_class = WorkClass::kSoftmax,
    .infer = infer,
    .gradient = gradient_softmax,
    .flops = flops<5>,
    .autocast = Autocast::kFloat32,
    .reference = reference<[](double x, double row_max, double row_sum) { return std::exp(x - row_max) / row_sum; }>,
    .decompose = decompose_softmax,
    .may_overwrite = {{0, 0}}};
const OpCard kSoftmaxBackward = {
    .name = "softmax_backward",
    .kind = OpKind::kReduction,
    .work_class = WorkClass::kSoftmax,
    .infer = infer_backward,
    .flops = flops<4>,
    .reference = reference_backward<[](double grad, double y) { return grad * y; },
                                    [](double grad, double y, double row_sum) { return y * (grad - row_sum); }>,
    .may_overwrite = {{0, 0}, {0, 1}}};
const OpCard kLogSoftmax = {
    .name = "log_softmax",
    .kind = OpKind::kReduction,
    .work_class = WorkClass::kSoftmax,
    .infer = infer,
    .gradient = gradient_log_softmax,
    .flops = flops<5>,
    .autocast = Autocast::kFloat32,
    .reference = reference<[](double x, double row_max, double row_sum) { return x - row_max - std::log(row_sum); }>};
const OpCard kLogSoftmaxBackward = {
    .name = "log_softmax_backward",
    .kind = OpKind::kReduction,
    .work_class = WorkClass::kSoftmax,
    .infer = infer_backward,
    .flops = flops<5>,
    .reference =
        reference_backward<[](double grad, double) { return grad; },
                           [](double grad, double y, double row_sum) { return grad - std::exp(y) * row_sum; }>};

std::span<const OpCard* const> softmax_cards() {
  static constexpr const OpCard* kCards[] = {&kSoftmax, &kSoftmaxBackward, &kLogSoftmax, &kLogSoftmaxBackward};
  return kCards;
}

ValueId softmax(Builder& build, ValueId x) { return build.emit_one(kSoftmax, {}, {x}); }
ValueId log_softmax(Builder& build, ValueId x) { return build.emit_one(kLogSoftmax, {}, {x}); }

}  // namespace laptime
