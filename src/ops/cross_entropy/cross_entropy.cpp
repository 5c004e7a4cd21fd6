// Cards of cross entropy, which is the mean over positions of -log_softmax(logits)[target].
#include "ops/cross_entropy/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "graph/structural_ops.h"
#include "ops/accumulation_type.h"
#include "ops/gather/gather.h"
#include "ops/nll_loss/nll_loss.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "ops/softmax/softmax.h"
#include "tensor/elements.h"

namespace laptime {
namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(accumulation_type(in[0].dtype), {}), contiguous_type(DType::kFloat64, in[1].shape())};
}
std::vector<TensorType> infer_backward(const Attributes& attributes, std::span<const TensorType> in) {
  const auto& a = attributes.as<CrossEntropyBackwardAttributes>();
  const DType dtype = a.grad_dtype.value_or(in[1].dtype);
  return {a.padded ? padded_type(dtype, in[1].shape()) : contiguous_type(dtype, in[1].shape())};
}

double log_sum_exp_of(std::span<const double> logits) {
  const double max = *std::max_element(logits.begin(), logits.end());
  const double shift = std::isinf(max) ? 0 : max;  // avoids inf - inf
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - shift);
  return shift + std::log(sum);
}

void reference(const OpCall& call) {
  const std::vector<double> logits = elements_of(call.in[0]);
  const auto columns = static_cast<size_t>(call.in[0].shape().back());
  double loss = 0;
  for (int64_t row = 0; row < call.in[1].numel(); ++row) {
    const std::span<const double> row_logits(logits.data() + static_cast<size_t>(row) * columns, columns);
    const double log_sum_exp = log_sum_exp_of(row_logits);
    loss += log_sum_exp - row_logits[static_cast<size_t>(call.in[1].at(row))];
    if (call.out[1].data != nullptr) call.out[1].put(row, log_sum_exp);
  }
  call.out[0].put(0, loss / static_cast<double>(call.in[1].numel()));
}

void reference_backward(const OpCall& call) {
  const TensorView& x = call.in[1];
  const int64_t columns = x.shape().back();
  const double scale = call.in[0].at(0) / static_cast<double>(call.in[2].numel());
  for (int64_t i = 0; i < x.numel(); ++i) {
    const int64_t row = i / columns;
    const double one_hot = i % columns == static_cast<int64_t>(call.in[2].at(row)) ? 1 : 0;
    call.out[0].put(i, (std::exp(x.at(i) - call.in[3].at(row)) - one_hot) * scale);
  }
}

void gradient(GradientContext& c) {
  c.grad_in[0] = c.build.emit_one(kCrossEntropyBackward, CrossEntropyBackwardAttributes{},
                                  {c.grad_out[0], c.in[0], c.in[1], c.out[1]});
}

std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const Shape& shape = build.shape(in[0]);
  if (attributes.as<CrossEntropyAttributes>().form == CrossEntropyForm::kLogSoftmax) {
    const int64_t rows = build.shape(in[1]).product();
    const ValueId log_p = log_softmax(build, reshape(build, in[0], {rows, shape.back()}));
    return {nll_loss(build, log_p, reshape(build, in[1], {rows})), {}};
  }
  const int last = shape.rank() - 1;
  Shape index_shape = shape;
  index_shape[-1] = 1;
  const ValueId x = build.hold(sub(build, in[0], max_last(build, in[0])[0]), "x");
  const ValueId log_p = build.hold(sub(build, x, log(build, sum(build, exp(build, x), {last}))), "log_p");
  return {mean_all(build, gather(build, neg(build, log_p), reshape(build, in[1], index_shape))), {}};
}

// Narrower logits need no cast, because the kernels compute in float32 anyway.
std::optional<Attributes> fold_input_cast(const Attributes& attributes, int input, DType to) {
  if (input != 0 || to != DType::kFloat32) return std::nullopt;
  return attributes;
}
// If the cast of the logits is removed, the gradient keeps the type that the cast gave it.
std::optional<Attributes> fold_input_cast_backward(const Attributes& attributes, int input, DType to) {
  auto a = attributes.as<CrossEntropyBackwardAttributes>();
  if (input != 1 || to != DType::kFloat32) return std::nullopt;
  a.grad_dtype = a.grad_dtype.value_or(to);
  return a;
}
std::optional<Attributes> fold_output_cast_backward(const Attributes& attributes, int output, DType to) {
  auto a = attributes.as<CrossEntropyBackwardAttributes>();
  if (output != 0 || !only_rounds(a.grad_dtype, to)) return std::nullopt;
  a.grad_dtype = to;
  return a;
}

std::optional<Attributes> pad_rows_backward(const Attributes& attributes) {
  auto a = attributes.as<CrossEntropyBackwardAttributes>();
  a.padded = true;
  return a;
}

}  // namespace

const char* name_of(CrossEntropyForm form) {
  return form == CrossEntropyForm::kWrittenOut ? "written_out" : "log_softmax";
}

const OpCard kCrossEntropy = {.name = "cross_entropy",
                              .kind = OpKind::kReduction,
                              .work_class = WorkClass::kLoss,
                              .infer = infer,
                              .gradient = gradient,
                              .flops = [](const Signature& s) { return 5.0 * static_cast<double>(s.in[0].numel()); },
                              .autocast = Autocast::kFloat32,
                              .reference = reference,
                              .decompose = decompose,
                              .fold_input_cast = fold_input_cast,
                              .reads_padded_rows = {0},
                              .optional_outputs = {1}};
const OpCard kCrossEntropyBackward = {
    .name = "cross_entropy_backward",
    .kind = OpKind::kReduction,
    .work_class = WorkClass::kLoss,
    .infer = infer_backward,
    .flops = [](const Signature& s) { return 3.0 * static_cast<double>(s.in[1].numel()); },
    .reference = reference_backward,
    .fold_input_cast = fold_input_cast_backward,
    .fold_output_cast = fold_output_cast_backward,
    .pad_rows = pad_rows_backward,
    .reads_padded_rows = {1},
    .may_overwrite = {{0, 1}}};

std::span<const OpCard* const> cross_entropy_cards() {
  static constexpr const OpCard* kCards[] = {&kCrossEntropy, &kCrossEntropyBackward};
  return kCards;
}

ValueId cross_entropy(Builder& build, ValueId logits, ValueId targets, CrossEntropyForm form) {
  return build.emit_one(kCrossEntropy, CrossEntropyAttributes{form}, {logits, targets});
}

}  // namespace laptime
