// Card of the cross entropy of a linear layer: the mean over rows of log(sum(exp(logits))) - logits[target], with
// logits = x W^T + bias.
#include "ops/linear_cross_entropy/linear_cross_entropy.h"

#include <algorithm>

#include "graph/structural_ops.h"
#include "ops/accumulation_type.h"
#include "ops/pointwise/pointwise.h"
#include "ops/stack/stack.h"

namespace laptime {
namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  const int64_t inner = in[0].shape().back();
  LAPTIME_CHECK(in[0].shape().rank() >= 2 && in[1].shape().rank() == 2 && inner == in[1].shape()[1],
                "x {} does not match weight {}", in[0].text(), in[1].text());
  LAPTIME_CHECK(in[2].numel() * inner == in[0].numel(), "targets {} do not match x {}", in[2].text(), in[0].text());
  if (in.size() > 3)
    LAPTIME_CHECK(in[3].shape() == Shape{in[1].shape()[0]}, "bias {} does not match the weight", in[3].text());
  Shape shape = in[0].shape();
  shape[-1] = in[1].shape()[0];
  return {contiguous_type(accumulation_type(in[0].dtype), {}),
          contiguous_type(promote(in[0].dtype, in[1].dtype), shape)};
}

ValueId bias_of(std::span<const ValueId> in) { return in.size() > 3 ? in[3] : ValueId{}; }

std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const auto& a = attributes.as<LinearCrossEntropyAttributes>();
  ValueId logits;
  {
    const auto part = build.part(0);
    logits = linear(build, in[0], in[1], bias_of(in), a.linear);
  }
  const auto part = build.part(1);
  return {cross_entropy(build, logits, in[2], a.loss), logits};
}

std::vector<ValueId> split_rows(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const auto& a = attributes.as<LinearCrossEntropyAttributes>();
  Shape shape = build.shape(in[0]);
  const int64_t inner = shape.back();
  const int64_t rows = shape.product() / inner;
  const int64_t groups = row_groups(shape, build.shape(in[1]));
  if (groups == 1) return decompose(build, attributes, in);
  const int64_t size = rows / groups;
  const ValueId x = reshape(build, in[0], {rows, inner});
  const ValueId targets = reshape(build, in[2], {rows});
  std::vector<ValueId> logits, losses;
  build.current.deferred = true;
  for (int64_t first = 0; first < rows; first += size) {
    {
      const auto part = build.part(0);
      logits.push_back(linear(build, slice(build, x, 0, first, size), in[1], bias_of(in), a.linear));
    }
    const auto part = build.part(1);
    losses.push_back(cross_entropy(build, logits.back(), slice(build, targets, 0, first, size), a.loss));
  }
  build.current.deferred = false;
  const auto part = build.part(1);
  ValueId loss = losses[0];
  ValueId all_logits = logits[0];
  for (size_t group = 1; group < losses.size(); ++group) {
    loss = add(build, loss, losses[group]);
    all_logits = concat(build, all_logits, logits[group], 0);
  }
  shape[-1] = build.shape(in[1])[0];
  return {mul_scalar(build, loss, 1 / static_cast<double>(groups)), reshape(build, all_logits, shape)};
}

double logits_count(const Signature& s) { return static_cast<double>(s.out[1].numel()); }

}  // namespace

const OpCard kLinearCrossEntropy = {
    .name = "linear_cross_entropy",
    .kind = OpKind::kContraction,
    .infer = infer,
    .flops = [](const Signature& s) { return logits_count(s) * (2 * static_cast<double>(s.in[1].shape()[1]) + 5); },
    .product_flops = [](const Signature& s) { return logits_count(s) * 2 * static_cast<double>(s.in[1].shape()[1]); },
    .decompose = decompose,
    .split_rows = split_rows};

std::span<const OpCard* const> linear_cross_entropy_cards() {
  static constexpr const OpCard* kCards[] = {&kLinearCrossEntropy};
  return kCards;
}

LinearCrossEntropy linear_cross_entropy(Builder& build, ValueId x, ValueId weight, ValueId bias, ValueId targets,
                                        const LinearCrossEntropyAttributes& attributes) {
  LAPTIME_CHECK(!bias.valid() || attributes.linear == LinearForm::kLinear, "einsum takes no bias");
  std::vector<ValueId> inputs{x, weight, targets};
  if (bias.valid()) inputs.push_back(bias);
  const std::vector<ValueId> out = build.emit(kLinearCrossEntropy, attributes, inputs);
  return {out[0], out[1]};
}

int64_t row_groups(const Shape& x, const Shape& weight) {
  const int64_t limit = std::max(x.product(), weight.product());
  int64_t rows = x.product() / x.back();
  int64_t groups = 1;
  for (; rows % 2 == 0 && rows * weight[0] > limit; rows /= 2) groups *= 2;
  return groups;
}

}  // namespace laptime
