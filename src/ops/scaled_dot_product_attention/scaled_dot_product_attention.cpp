// Cards of attention and of the causal mask.
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/structural_ops.h"
#include "ops/accumulation_type.h"
#include "ops/matmul/matmul.h"
#include "ops/pointwise/pointwise.h"
#include "ops/softmax/softmax.h"
#include "tensor/elements.h"

namespace laptime {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<TensorType> infer_mask(const Attributes& attributes, std::span<const TensorType>) {
  const auto& a = attributes.as<CausalMaskAttributes>();
  return {contiguous_type(a.is_additive ? DType::kFloat32 : DType::kBool, {a.size, a.size})};
}

void reference_mask(const OpCall& call) {
  const int64_t size = call.out[0].shape()[0];
  const bool is_additive = call.attributes.as<CausalMaskAttributes>().is_additive;
  const double seen = is_additive ? 0 : 1;
  const double hidden = is_additive ? std::numeric_limits<float>::lowest() : 0;
  for (int64_t query = 0; query < size; ++query) {
    for (int64_t key = 0; key < size; ++key) call.out[0].put(query * size + key, key <= query ? seen : hidden);
  }
}

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> in) {
  const TensorType& q = in[0];
  const Shape& k = in[1].shape();
  const bool fits = q.shape().rank() == 4 && k.rank() == 4 && q.shape()[1] % k[1] == 0 &&
                    k == Shape({q.shape()[0], k[1], q.shape()[2], q.shape()[3]}) && in[2].shape() == k;
  LAPTIME_CHECK(fits, "the shapes do not match: q {}, k {}, v {}", q.text(), in[1].text(), in[2].text());
  LAPTIME_CHECK(in.size() == (attributes.as<AttentionAttributes>().dropout_p > 0 ? 4U : 3U),
                "wrong number of inputs: {}", in.size());
  Shape rows = q.shape();
  rows[-1] = 1;
  return {{promote(q.dtype, in[2].dtype), dense_like(q.layout)}, contiguous_type(accumulation_type(q.dtype), rows)};
}

std::vector<TensorType> infer_backward(const Attributes&, std::span<const TensorType> in) {
  std::vector<TensorType> out;
  for (const TensorType& type : in.first(3)) out.push_back({type.dtype, dense_like(type.layout)});
  return out;
}

// Queries, keys and values of a reference call. Rows are numbered across all batches and heads.
class Operands {
 public:
  Operands(const OpCall& call, size_t step_input)
      : q_(elements_of(call.in[0])),
        k_(elements_of(call.in[1])),
        v_(elements_of(call.in[2])),
        positions_(call.in[0].shape()[-2]),
        width_(call.in[0].shape()[-1]),
        group_(call.in[0].shape()[1] / call.in[1].shape()[1]),
        attributes_(call.attributes.as<AttentionAttributes>()) {
    if (attributes_.dropout_p > 0)
      key_ = attributes_.dropout().counter().key(static_cast<int64_t>(call.in[step_input].at(0)));
  }

  int64_t rows() const { return static_cast<int64_t>(q_.size()) / width_; }
  int64_t width() const { return width_; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(width_)); }
  // The query in `row` attends to visible_keys(row) keys, starting at row first_key(row).
  int64_t first_key(int64_t row) const { return row / positions_ / group_ * positions_; }
  int64_t visible_keys(int64_t row) const { return attributes_.causal ? row % positions_ + 1 : positions_; }

  const double* q(int64_t row) const { return q_.data() + row * width_; }
  const double* k(int64_t row) const { return k_.data() + row * width_; }
  const double* v(int64_t row) const { return v_.data() + row * width_; }

  double score(int64_t row, int64_t key) const { return dot(q(row), k(first_key(row) + key)) * scale(); }
  double dot(const double* a, const double* b) const {
    double sum = 0;
    for (int64_t i = 0; i < width_; ++i) sum += a[i] * b[i];
    return sum;
  }
  // The dropout factor of the weight of a key.
  double dropout_factor(int64_t row, int64_t key) const {
    if (attributes_.dropout_p <= 0) return 1;
    return dropout_keeps(key_, row * positions_ + key, attributes_.dropout_p) ? dropout_scale(attributes_.dropout_p)
                                                                              : 0;
  }

 private:
  std::vector<double> q_, k_, v_;
  int64_t positions_, width_;
  int64_t group_;  // number of query heads per head of keys
  const AttentionAttributes& attributes_;
  uint64_t key_ = 0;
};

void reference(const OpCall& call) {
  const Operands operands(call, 3);
  for (int64_t row = 0; row < operands.rows(); ++row) {
    std::vector<double> weights(static_cast<size_t>(operands.visible_keys(row)));
    double row_max = -kInfinity;
    for (size_t key = 0; key < weights.size(); ++key) {
      weights[key] = operands.score(row, static_cast<int64_t>(key));
      row_max = std::max(row_max, weights[key]);
    }
    double row_sum = 0;
    for (double& weight : weights) row_sum += weight = std::exp(weight - row_max);
    std::vector<double> values(static_cast<size_t>(operands.width()), 0.0);
    for (size_t key = 0; key < weights.size(); ++key) {
      const double weight = weights[key] / row_sum * operands.dropout_factor(row, static_cast<int64_t>(key));
      const double* v = operands.v(operands.first_key(row) + static_cast<int64_t>(key));
      for (size_t i = 0; i < values.size(); ++i) values[i] += weight * v[i];
    }
    for (int64_t i = 0; i < operands.width(); ++i)
      call.out[0].put(row * operands.width() + i, values[static_cast<size_t>(i)]);
    if (call.out[1].data != nullptr) call.out[1].put(row, row_max + std::log(row_sum));
  }
}

// With weights w, dropout factors m and g = grad_values (Dao et al. 2022, appendix B):
//   grad_v = (w m)^T g
//   grad_scores = w (m (g v^T) - rowsum(g values))
//   grad_q = grad_scores k / sqrt(d), grad_k = grad_scores^T q / sqrt(d)
void reference_backward(const OpCall& call) {
  const Operands operands(call, 6);
  const int64_t width = operands.width();
  const std::vector<double> grad_values = elements_of(call.in[5]);
  std::vector<double> grad_q(grad_values.size(), 0.0);
  std::vector<double> grad_k(static_cast<size_t>(call.in[1].numel()), 0.0);
  std::vector<double> grad_v(grad_k.size(), 0.0);
  for (int64_t row = 0; row < operands.rows(); ++row) {
    const double* grad = grad_values.data() + row * width;
    double product = 0;
    for (int64_t i = 0; i < width; ++i) product += grad[i] * call.in[3].at(row * width + i);
    const double log_sum_exp = call.in[4].at(row);
    for (int64_t key = 0; key < operands.visible_keys(row); ++key) {
      const int64_t key_row = operands.first_key(row) + key;
      const double weight = std::exp(operands.score(row, key) - log_sum_exp);
      const double factor = operands.dropout_factor(row, key);
      const double grad_score =
          weight * (factor * operands.dot(grad, operands.v(key_row)) - product) * operands.scale();
      for (int64_t i = 0; i < width; ++i) {
        const auto at_query = static_cast<size_t>(row * width + i);
        const auto at_key = static_cast<size_t>(key_row * width + i);
        grad_v[at_key] += weight * factor * grad[i];
        grad_q[at_query] += grad_score * operands.k(key_row)[i];
        grad_k[at_key] += grad_score * operands.q(row)[i];
      }
    }
  }
  const std::vector<double>* results[] = {&grad_q, &grad_k, &grad_v};
  for (size_t k = 0; k < 3; ++k) {
    for (size_t i = 0; i < results[k]->size(); ++i) call.out[k].put(static_cast<int64_t>(i), (*results[k])[i]);
  }
}

void gradient(GradientContext& c) {
  LAPTIME_CHECK(!c.grad_out[1].valid(), "gradients through the log-sum-exp are not supported");
  std::vector<ValueId> inputs{c.in[0], c.in[1], c.in[2], c.out[0], c.out[1], c.grad_out[0]};
  if (c.in.size() > 3) inputs.push_back(c.in[3]);
  const std::vector<ValueId> grads = c.build.emit(kScaledDotProductAttentionBackward, c.attributes, inputs);
  std::copy(grads.begin(), grads.end(), c.grad_in.begin());
}

// Expands [B, g, T, d] to [B, h, T, d] by repeating each head h / g times.
ValueId repeated(Builder& build, ValueId x, int64_t heads) {
  const Shape shape = build.shape(x);
  if (shape[1] == heads) return x;
  const ValueId apart = reshape(build, x, {shape[0], shape[1], 1, shape[2], shape[3]});
  const ValueId wide = expand(build, apart, {shape[0], shape[1], heads / shape[1], shape[2], shape[3]});
  return reshape(build, wide, {shape[0], heads, shape[2], shape[3]});
}

// Lowers attention to two batched products with a softmax in between.
std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const auto& a = attributes.as<AttentionAttributes>();
  const Shape shape = build.shape(in[0]);
  const int64_t heads = shape[0] * shape[1];
  const int64_t positions = shape[2];
  const int64_t width = shape[3];
  const Shape square{shape[0], shape[1], positions, positions};
  const bool is_additive = a.form == AttentionForm::kTransformers;
  ValueId mask;
  if (a.causal) mask = build.emit_one(kCausalMask, CausalMaskAttributes{positions, is_additive}, {});
  const ValueId keys = repeated(build, in[1], shape[1]);
  const ValueId kept_values = repeated(build, in[2], shape[1]);

  ValueId scores;
  {
    const auto scope = build.scope("scores");
    const auto range = build.range("computing attention scores");
    const ValueId q = reshape(build, in[0], {heads, positions, width});
    const ValueId k = reshape(build, transpose(build, keys, -2, -1), {heads, width, positions});
    const ValueId product = reshape(build, matmul(build, q, k), square);
    const double root = std::sqrt(static_cast<double>(width));
    const ValueId scaled = is_additive ? mul_scalar(build, product, 1 / root) : div_scalar(build, product, root);
    scores = build.hold(build.name(scaled, ""), "scores");
  }
  ValueId masked = scores;
  if (a.causal) {
    const auto scope = build.scope("mask");
    const auto range = build.range("masking");
    masked = is_additive ? build.hold(add(build, scores, mask), "scores") : where(build, mask, scores, -kInfinity);
  }
  ValueId weights;
  const char* const variable = is_additive ? "scores" : "weights";  // transformers uses one variable for both
  {
    const auto scope = build.scope("weights");
    const auto range = build.range("computing softmax");
    weights = build.hold(build.name(softmax(build, masked), ""), variable);
    if (a.dropout_p > 0) {
      const ValueId dropped = build.emit(kDropout, a.dropout(), std::vector<ValueId>{weights, in[3]})[0];
      weights = build.hold(dropped, variable);
    }
  }
  const auto scope = build.scope("values");
  const auto range = build.range("final matmul");
  const ValueId left = reshape(build, weights, {heads, positions, positions});
  const ValueId right = reshape(build, kept_values, {heads, positions, width});
  return {build.name(reshape(build, matmul(build, left, right), shape), ""), {}};
}

// 4 B h T^2 d FLOPs. By convention, masked scores are counted too.
double attention_flops(const Signature& s) {
  return 4.0 * static_cast<double>(s.in[0].numel()) * static_cast<double>(s.in[0].shape()[-2]);
}

// Heads wider than kWidestFusedHead are computed as products of whole rows, whether the op is lowered or not. Without
// lowering, the op saves memory by recomputing the scores in backward. Recomputing is not worthwhile if T <= d, because
// the scores then take little memory. On a GPU, only a slow kernel supports dropout, and none supports 16-bit heads
// wider than kWidestFusedHeadOnGpu.
bool is_faster_lowered(const Attributes& attributes, std::span<const TensorType> in, bool on_gpu) {
  const Shape& shape = in[0].shape();  // [B, h, T, d]
  if (on_gpu && (shape[3] > kWidestFusedHeadOnGpu || attributes.as<AttentionAttributes>().dropout_p > 0)) return true;
  return shape[3] > kWidestFusedHead && shape[2] <= shape[3];
}

}  // namespace

const OpCard kCausalMask = {
    .name = "causal_mask", .kind = OpKind::kConstant, .infer = infer_mask, .reference = reference_mask};
const OpCard kScaledDotProductAttention = {.name = "scaled_dot_product_attention",
                                           .kind = OpKind::kContraction,
                                           .work_class = WorkClass::kAttention,
                                           .infer = infer,
                                           .gradient = gradient,
                                           .flops = attention_flops,
                                           .autocast = Autocast::kLower,
                                           .reference = reference,
                                           .decompose = decompose,
                                           .is_faster_lowered = is_faster_lowered,
                                           .may_skip_products = true,
                                           .optional_outputs = {1}};
const OpCard kScaledDotProductAttentionBackward = {.name = "scaled_dot_product_attention_backward",
                                                   .kind = OpKind::kContraction,
                                                   .work_class = WorkClass::kAttention,
                                                   .infer = infer_backward,
                                                   .flops = [](const Signature& s) { return 2 * attention_flops(s); },
                                                   .reference = reference_backward,
                                                   .may_skip_products = true};

const char* name_of(AttentionForm form) { return form == AttentionForm::kModules ? "modules" : "transformers"; }

std::span<const OpCard* const> scaled_dot_product_attention_cards() {
  static constexpr const OpCard* kCards[] = {&kCausalMask, &kScaledDotProductAttention,
                                             &kScaledDotProductAttentionBackward};
  return kCards;
}

ValueId scaled_dot_product_attention(Builder& build, ValueId q, ValueId k, ValueId v, ValueId step,
                                     AttentionAttributes attributes, int64_t rank) {
  const auto range = build.range("scaled dot product attention");
  std::vector<ValueId> inputs{q, k, v};
  if (attributes.dropout_p > 0) {
    const auto scope = build.scope("weights");
    attributes.place = fnv1a64(build.current.scope);
    const Shape shape = build.shape(q);
    attributes.first = (Size(rank) * shape[0] * shape[1] * shape[2] * shape[2]).value();
    inputs.push_back(step);
  }
  return build.emit(kScaledDotProductAttention, attributes, inputs)[0];
}

}  // namespace laptime
