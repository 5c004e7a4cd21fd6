// Attention: softmax(q k^T / sqrt(d) where key <= query) v   (Vaswani et al. 2017)
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/structural_ops.h"
#include "ops/dropout/dropout.h"
#include "ops/matmul/matmul.h"
#include "ops/pointwise/pointwise.h"
#include "ops/softmax/softmax.h"

namespace laptime {
namespace {

std::vector<TensorType> infer_mask(const Attributes& attributes, std::span<const TensorType>) {
  const int64_t size = attributes.as<CausalMaskAttributes>().size;
  return {contiguous_type(DType::kBool, {size, size})};
}

void reference_mask(const OpCall& call) {
  const int64_t size = call.out[0].shape()[0];
  for (int64_t query = 0; query < size; ++query) {
    for (int64_t key = 0; key < size; ++key) call.out[0].put(query * size + key, key <= query ? 1 : 0);
  }
}

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  Shape rows = in[0].shape();
  rows[-1] = 1;
  const DType statistics = in[0].dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  return {contiguous_type(promote(in[0].dtype, in[2].dtype), in[0].shape()), contiguous_type(statistics, rows)};
}

// Without dropout: the mask of the weights belongs to the dropout op.
void reference(const OpCall& call) {
  const auto& [q, k, v, mask] = std::tie(call.in[0], call.in[1], call.in[2], call.in[3]);
  const int64_t positions = q.shape()[-2];
  const int64_t width = q.shape()[-1];
  std::vector<double> weights(static_cast<size_t>(positions));
  for (int64_t row = 0; row < q.numel() / width; ++row) {
    const int64_t head = row / positions * positions;
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t key = 0; key < positions; ++key) {
      double score = 0;
      for (int64_t i = 0; i < width; ++i) score += q.at(row * width + i) * k.at((head + key) * width + i);
      const bool seen = mask.at(row % positions * positions + key) != 0;
      weights[static_cast<size_t>(key)] =
          seen ? score / std::sqrt(static_cast<double>(width)) : -std::numeric_limits<double>::infinity();
      largest = std::max(largest, weights[static_cast<size_t>(key)]);
    }
    double total = 0;
    for (double& weight : weights) total += weight = std::exp(weight - largest);
    for (int64_t i = 0; i < width; ++i) {
      double value = 0;
      for (int64_t key = 0; key < positions; ++key)
        value += weights[static_cast<size_t>(key)] / total * v.at((head + key) * width + i);
      call.out[0].put(row * width + i, value);
    }
    if (call.out[1].data != nullptr) call.out[1].put(row, largest + std::log(total));
  }
}

// As the modules write it: two einsums over (B h) and a softmax written out between them.
std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const auto& a = attributes.as<AttentionAttributes>();
  const Shape shape = build.shape(in[0]);
  const int64_t heads = shape[0] * shape[1];
  const int64_t positions = shape[2];
  const int64_t width = shape[3];
  const Shape square{shape[0], shape[1], positions, positions};

  ValueId scores;
  {
    const auto scope = build.scope("scores");
    const ValueId q = reshape(build, in[0], {heads, positions, width});
    const ValueId k = reshape(build, transpose(build, in[1], -2, -1), {heads, width, positions});
    const ValueId product = reshape(build, matmul(build, q, k), square);
    scores = build.hold(build.name(div_scalar(build, product, std::sqrt(static_cast<double>(width))), ""), "scores");
  }
  ValueId masked;
  {
    const auto scope = build.scope("mask");
    masked = where(build, in[3], scores, -std::numeric_limits<double>::infinity());
  }
  ValueId weights;
  {
    const auto scope = build.scope("weights");
    weights = build.hold(build.name(softmax(build, masked), ""), "weights");
    if (a.dropout_p > 0) weights = build.hold(dropout(build, weights, in[4], a.dropout_p, a.seed), "weights");
  }
  const auto scope = build.scope("values");
  const ValueId left = reshape(build, weights, {heads, positions, positions});
  const ValueId right = reshape(build, in[2], {heads, positions, width});
  return {build.name(reshape(build, matmul(build, left, right), shape), ""), {}};
}

double attention_flops(const Signature& s) {
  return 4.0 * static_cast<double>(s.in[0].numel()) * static_cast<double>(s.in[0].shape()[-2]);
}

}  // namespace

const OpCard kCausalMask = {
    .name = "causal_mask", .kind = OpKind::kConstant, .infer = infer_mask, .reference = reference_mask};
const OpCard kScaledDotProductAttention = {.name = "scaled_dot_product_attention",
                                           .kind = OpKind::kContraction,
                                           .infer = infer,
                                           .flops = attention_flops,
                                           .autocast = Autocast::kLower,
                                           .reference = reference,
                                           .decompose = decompose,
                                           .optional_outputs = {1}};

std::span<const OpCard* const> scaled_dot_product_attention_cards() {
  static constexpr const OpCard* kCards[] = {&kCausalMask, &kScaledDotProductAttention};
  return kCards;
}

ValueId scaled_dot_product_attention(Builder& build, ValueId q, ValueId k, ValueId v, ValueId step,
                                     const AttentionAttributes& attributes) {
  const ValueId mask = build.emit_one(kCausalMask, CausalMaskAttributes{build.shape(q)[-2]}, {});
  std::vector<ValueId> inputs{q, k, v, mask};
  if (step.valid()) inputs.push_back(step);
  return build.emit(kScaledDotProductAttention, attributes, inputs)[0];
}

}  // namespace laptime
