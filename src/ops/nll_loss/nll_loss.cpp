// Cards of the negative log likelihood.
#include "ops/nll_loss/nll_loss.h"

namespace laptime {
namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(in[0].dtype, {}), contiguous_type(in[0].dtype, {})};
}
std::vector<TensorType> infer_backward(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(in[1].dtype, in[1].shape())};
}

void reference(const OpCall& call) {
  const int64_t columns = call.in[0].shape().back();
  const int64_t rows = call.in[1].numel();
  double total = 0;
  for (int64_t row = 0; row < rows; ++row)
    total -= call.in[0].at(row * columns + static_cast<int64_t>(call.in[1].at(row)));
  call.out[0].put(0, total / static_cast<double>(rows));
  call.out[1].put(0, static_cast<double>(rows));
}

void reference_backward(const OpCall& call) {
  const int64_t columns = call.out[0].shape().back();
  const double slope = -call.in[0].at(0) / call.in[3].at(0);
  for (int64_t i = 0; i < call.out[0].numel(); ++i) call.out[0].put(i, 0);
  for (int64_t row = 0; row < call.in[2].numel(); ++row) {
    call.out[0].put(row * columns + static_cast<int64_t>(call.in[2].at(row)), slope);
  }
}

void gradient(GradientContext& c) {
  c.grad_in[0] = c.build.emit_one(kNllLossBackward, {}, {c.grad_out[0], c.in[0], c.in[1], c.out[1]});
}

// Forward reads one element of each row of log_p; backward reads none.
int64_t forward_bytes(const Signature& s) {
  return (Size(s.in[1].numel()) * size_of(s.in[0].dtype) + s.in[1].bytes()).value();
}
int64_t backward_bytes(const Signature& s) { return (Size(s.out[0].bytes()) + s.in[2].bytes()).value(); }

}  // namespace

const OpCard kNllLoss = {.name = "nll_loss",
                         .kind = OpKind::kReduction,
                         .work_class = WorkClass::kLoss,
                         .infer = infer,
                         .gradient = gradient,
                         .flops = [](const Signature& s) { return static_cast<double>(s.in[1].numel()); },
                         .bytes = forward_bytes,
                         .autocast = Autocast::kFloat32,
                         .reference = reference};
const OpCard kNllLossBackward = {.name = "nll_loss_backward",
                                 .kind = OpKind::kCopy,
                                 .work_class = WorkClass::kLoss,
                                 .infer = infer_backward,
                                 .bytes = backward_bytes,
                                 .reference = reference_backward};

std::span<const OpCard* const> nll_loss_cards() {
  static constexpr const OpCard* kCards[] = {&kNllLoss, &kNllLossBackward};
  return kCards;
}

ValueId nll_loss(Builder& build, ValueId log_p, ValueId targets) {
  return build.emit_one(kNllLoss, {}, {log_p, targets});
}

}  // namespace laptime
