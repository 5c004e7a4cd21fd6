// Cross entropy: the mean over positions of -log_softmax(logits)[target].
#include "ops/cross_entropy/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "graph/structural_ops.h"
#include "ops/gather/gather.h"
#include "ops/log_softmax/log_softmax.h"
#include "ops/nll_loss/nll_loss.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"

namespace laptime {
namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(in[0].dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32, {})};
}

void reference(const OpCall& call) {
  const TensorView& x = call.in[0];
  const int64_t columns = x.shape().back();
  double loss = 0;
  for (int64_t row = 0; row < call.in[1].numel(); ++row) {
    double largest = x.at(row * columns);
    for (int64_t i = 1; i < columns; ++i) largest = std::max(largest, x.at(row * columns + i));
    double total = 0;
    for (int64_t i = 0; i < columns; ++i) total += std::exp(x.at(row * columns + i) - largest);
    loss -= x.at(row * columns + static_cast<int64_t>(call.in[1].at(row))) - largest - std::log(total);
  }
  call.out[0].put(0, loss / static_cast<double>(call.in[1].numel()));
}

std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const Shape& shape = build.shape(in[0]);
  if (attributes.as<CrossEntropyAttributes>().form == CrossEntropyForm::kLogSoftmax) {
    const int64_t rows = build.shape(in[1]).product();
    const ValueId log_p = log_softmax(build, reshape(build, in[0], {rows, shape.back()}));
    return {nll_loss(build, log_p, reshape(build, in[1], {rows}))};
  }
  const int last = shape.rank() - 1;
  Shape index_shape = shape;
  index_shape[-1] = 1;
  const ValueId x = build.hold(sub(build, in[0], max_last(build, in[0])[0]), "x");
  const ValueId log_p = build.hold(sub(build, x, log(build, sum(build, exp(build, x), {last}))), "log_p");
  return {mean_all(build, gather(build, neg(build, log_p), reshape(build, in[1], index_shape)))};
}

}  // namespace

const char* name_of(CrossEntropyForm form) {
  return form == CrossEntropyForm::kWrittenOut ? "written_out" : "log_softmax";
}

const OpCard kCrossEntropy = {.name = "cross_entropy",
                              .kind = OpKind::kReduction,
                              .infer = infer,
                              .flops = [](const Signature& s) { return 5.0 * static_cast<double>(s.in[0].numel()); },
                              .autocast = Autocast::kFloat32,
                              .reference = reference,
                              .decompose = decompose};

std::span<const OpCard* const> cross_entropy_cards() {
  static constexpr const OpCard* kCards[] = {&kCrossEntropy};
  return kCards;
}

ValueId cross_entropy(Builder& build, ValueId logits, ValueId targets, CrossEntropyForm form) {
  return build.emit_one(kCrossEntropy, CrossEntropyAttributes{form}, {logits, targets});
}

}  // namespace laptime
