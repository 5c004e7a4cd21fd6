// Attention: kernels compared with the references, gradients, layouts, dropout, and long and wide heads.
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"

#include <cmath>
#include <map>

#include "backend/cpu/team.h"
#include "base/isa.h"
#include "ops/kernels_cpu.h"
#include "ops/kernels_cuda.h"
#include "ops/matmul/matmul.h"
#include "support/conformance.h"
#include "support/evaluate.h"
#include "support/gradient_check.h"
#include "support/library_queue.h"
#include "tensor/elements.h"

namespace laptime::test {
namespace {

// Layouts with contiguous rows. Each kernel supports only some head widths; a test below checks that at least one
// kernel supports each width.
const std::vector<Arrangement> kContiguousRows{Arrangement::kContiguous, Arrangement::kPadded, Arrangement::kBroadcast};

Shape row_shape(const Shape& shape) {
  Shape rows = shape;
  rows[-1] = 1;
  return rows;
}

const Operand kStep{.shape = {}, .values = Values::kConstant, .dtype = DType::kInt64, .bound = 3};

// The shape of keys and values with `kv_heads` heads; if 0, as many heads as the queries.
Shape kv_shape(const Shape& shape, int64_t kv_heads) {
  Shape keys = shape;
  if (kv_heads > 0) keys[1] = kv_heads;
  return keys;
}

std::vector<Operand> forward_operands(const Shape& shape, bool drops, int64_t kv_heads = 0) {
  const Operand keys{.shape = kv_shape(shape, kv_heads)};
  std::vector<Operand> operands{{.shape = shape}, keys, keys};
  if (drops) operands.push_back(kStep);
  return operands;
}

std::vector<Operand> backward_operands(const Shape& shape, bool drops, int64_t kv_heads = 0) {
  // Values near the log-sum-exp of the scores, so that weights are at most slightly larger than 1.
  const Operand log_sum_exp{.shape = row_shape(shape), .values = Values::kPositive, .dtype = DType::kFloat32};
  const Operand keys{.shape = kv_shape(shape, kv_heads)};
  std::vector<Operand> operands{{.shape = shape}, keys, keys, {.shape = shape}};
  operands.push_back(log_sum_exp);
  operands.push_back({.shape = shape});
  if (drops) operands.push_back(kStep);
  return operands;
}

std::vector<ConformanceCase> scaled_dot_product_attention_rows() {
  struct Row {
    Shape shape;
    bool causal = true;
    double dropout_p = 0;
    int64_t kv_heads = 0;
    int64_t first = 0;
  };
  std::vector<ConformanceCase> rows;
  for (const Row& row : std::vector<Row>{
           {{1, 1, 1, 1}},
           {{2, 3, 33, 20}},
           {{1, 2, 70, 33}},
           {{1, 2, 14, 64}, false},
           {{2, 1, 45, 100}, false},
           {{1, 1, 66, 128}},
           {{2, 3, 20, 24}},
           {{1, 2, 2, 8}, false},
           {{1, 2, 30, 20}, true, 0.3},
           {{1, 1, 40, 16}, false, 0.5},
           {{1, 1, 9, 16}, true, 1.0},
           {{1, 2, 19, 300}},
           {{1, 1, 9, 257}, false},
           {{1, 1, 150, 264}},
           {{2, 1, 70, 270}, true, 0.3},
           {{1, 2, 11, 260}, true, 0.25},
           {{2, 4, 33, 20}, true, 0, 2},
           {{1, 9, 20, 32}, true, 0, 3},
           {{1, 4, 17, 80}, false, 0, 2},
           {{1, 6, 40, 16}, false, 0, 1},
           {{1, 4, 30, 20}, true, 0.3, 2},
           {{2, 4, 19, 270}, true, 0, 2},
           {{1, 3, 150, 264}, true, 0.25, 1},
           {{1, 4, 30, 20}, true, 0.3, 2, 7200},
           {{2, 1, 40, 264}, true, 0.25, 0, 3200},
       }) {
    const AttentionAttributes attributes{
        .causal = row.causal, .dropout_p = row.dropout_p, .seed = 42, .place = 7, .first = row.first};
    const bool drops = row.dropout_p > 0;
    rows.push_back({.op = &kScaledDotProductAttention,
                    .attributes = attributes,
                    .inputs = forward_operands(row.shape, drops, row.kv_heads),
                    .arrangements = kContiguousRows,
                    .may_refuse = kContiguousRows});
    rows.push_back({.op = &kScaledDotProductAttentionBackward,
                    .attributes = attributes,
                    .inputs = backward_operands(row.shape, drops, row.kv_heads),
                    .arrangements = kContiguousRows,
                    .may_refuse = kContiguousRows});
  }
  for (const int64_t size : {1, 70}) {
    for (const bool is_additive : {false, true}) {
      rows.push_back({.op = &kCausalMask,
                      .attributes = CausalMaskAttributes{size, is_additive},
                      .dtypes = {DType::kFloat32},
                      .arrangements = {Arrangement::kContiguous},
                      .slack = 0});
    }
  }
  return rows;
}

LAPTIME_CONFORMANCE(Attention, scaled_dot_product_attention_rows());

TEST(Attention, GradientMatchesFiniteDifferences) {
  for (const bool causal : {true, false}) {
    for (const double dropout_p : {0.0, 0.3}) {
      expect_gradient({.op = &kScaledDotProductAttention,
                       .attributes = AttentionAttributes{causal, dropout_p, 5, 6},
                       .inputs = forward_operands({2, 2, 5, 4}, dropout_p > 0)});
      expect_gradient({.op = &kScaledDotProductAttention,
                       .attributes = AttentionAttributes{causal, dropout_p, 5, 6},
                       .inputs = forward_operands({2, 6, 5, 4}, dropout_p > 0, 2)});
    }
  }
}

Layout heads_within_positions(const Shape& shape) {
  return permuted(Layout::contiguous({shape[0], shape[2], shape[1], shape[3]}), {0, 2, 1, 3});
}

// A forward and a backward call. The heads of a position are adjacent in memory.
class Attention {
 public:
  Attention(const AttentionAttributes& attributes, DType dtype, const Shape& shape, int64_t kv_heads)
      : attributes_(attributes) {
    const TensorType type{dtype, heads_within_positions(shape)};
    const TensorType keys{dtype, heads_within_positions(kv_shape(shape, kv_heads))};
    forward_ = signature(kScaledDotProductAttention, {type, keys, keys});
    const TensorType grad{dtype, dense_like(type.layout)};
    backward_ =
        signature(kScaledDotProductAttentionBackward, {type, keys, keys, forward_.out[0], forward_.out[1], grad});
    for (size_t k = 0; k < 3; ++k) add(backward_.in[k], k);
    for (size_t k = 3; k < 5; ++k) tensors_.emplace_back(backward_.in[k]);
    add(grad, 5);
    for (const TensorType& out : backward_.out) tensors_.emplace_back(out);
    if (attributes.dropout_p > 0) {
      tensors_.emplace_back(contiguous_type(DType::kInt64, {}));
      tensors_.back().fill(kStep, 0);
    }
  }

  const Signature& forward_signature() const { return forward_; }
  const Signature& backward_signature() const { return backward_; }

  // Runs both kernels. Returns the output, the log-sum-exp, and the gradients of q, k and v.
  std::vector<std::vector<double>> run(const Kernel& forward, const Kernel& backward, int threads) {
    cpu::Team team(threads);
    return run(forward, backward, team);
  }
  std::vector<std::vector<double>> run(const Kernel& forward, const Kernel& backward, Queue& queue) {
    launch(forward, forward_, {0, 1, 2}, {3, 4}, queue);
    launch(backward, backward_, {0, 1, 2, 3, 4, 5}, {6, 7, 8}, queue);
    std::vector<std::vector<double>> results;
    for (const size_t k : {3U, 4U, 6U, 7U, 8U}) {
      EXPECT_TRUE(tensors_[k].guards_intact()) << k;
      results.push_back(elements_of(tensors_[k].view()));
    }
    return results;
  }

 private:
  Signature signature(const OpCard& op, std::vector<TensorType> in) const {
    if (attributes_.dropout_p > 0) in.push_back(contiguous_type(DType::kInt64, {}));
    return {&op, attributes_, in, op.infer(attributes_, in)};
  }
  void add(const TensorType& type, size_t seed) {
    tensors_.emplace_back(type);
    tensors_.back().fill({.shape = type.shape()}, seed);
  }
  void launch(const Kernel& kernel, const Signature& signature, const std::vector<size_t>& in,
              const std::vector<size_t>& out, Queue& queue) {
    std::vector<TensorView> in_views;
    std::vector<TensorView> out_views;
    in_views.reserve(in.size() + 1);
    out_views.reserve(out.size());
    for (const size_t k : in) in_views.push_back(tensors_[k].view());
    if (attributes_.dropout_p > 0) in_views.push_back(tensors_.back().view());
    for (const size_t k : out) out_views.push_back(tensors_[k].view());
    GuardedTensor workspace(contiguous_type(DType::kBool, {kernel.workspace_bytes(signature)}));
    if (kernel.prepare != nullptr) kernel.prepare(signature, queue);
    kernel.launch({*signature.op, signature.attributes, in_views, out_views, workspace.view().data, queue});
    EXPECT_TRUE(workspace.guards_intact());
  }

  AttentionAttributes attributes_;
  Signature forward_, backward_;
  std::vector<GuardedTensor> tensors_;  // q, k, v, values, log_sum_exp, grad_values, grad_q, grad_k, grad_v[, step]
};

// The kernels among `all` that support the signature, except the reference.
std::vector<Kernel> supporting_kernels(std::vector<Kernel> all, const Signature& signature) {
  std::erase_if(all, [&](const Kernel& kernel) {
    return kernel.op != signature.op || kernel.name == kReferenceName || !kernel.refusal(signature).empty();
  });
  return all;
}
std::vector<Kernel> supporting_kernels(cpu::Isa isa, const Signature& signature) {
  return supporting_kernels(cpu_kernels(isa), signature);
}

double relative_distance(const std::vector<double>& a, const std::vector<double>& truth) {
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    difference += (a[i] - truth[i]) * (a[i] - truth[i]);
    norm += truth[i] * truth[i];
  }
  return std::sqrt(difference / norm);
}

// Every kernel of every instruction set must match the references within tolerance and give identical bits for any
// number of threads.
void expect_close(const AttentionAttributes& attributes, const Shape& shape, int64_t kv_heads = 0) {
  const double accepted =
      2.5e-6 * std::max(1.0, static_cast<double>(shape.back()) / 512);  // wider heads have longer sums
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    Attention attention(attributes, dtype, shape, kv_heads);
    SCOPED_TRACE(attention.forward_signature().text());
    const Kernel forward_reference = reference_kernel(kScaledDotProductAttention);
    const Kernel backward_reference = reference_kernel(kScaledDotProductAttentionBackward);
    const auto truth = attention.run(forward_reference, backward_reference, 1);
    for (const cpu::Isa isa : cpu::runnable_isas()) {
      const std::vector<Kernel> forward = supporting_kernels(isa, attention.forward_signature());
      const std::vector<Kernel> backward = supporting_kernels(isa, attention.backward_signature());
      ASSERT_FALSE(forward.empty());
      ASSERT_FALSE(backward.empty());
      for (size_t i = 0; i < std::max(forward.size(), backward.size()); ++i) {
        const Kernel& forward_kernel = forward[std::min(i, forward.size() - 1)];
        const Kernel& backward_kernel = backward[std::min(i, backward.size() - 1)];
        const auto results = attention.run(forward_kernel, backward_kernel, 2);
        for (size_t k = 0; k < results.size(); ++k) {
          // In bfloat16, backward reads the rounded output values.
          EXPECT_LT(relative_distance(results[k], truth[k]), dtype == DType::kFloat32 ? accepted : 8e-3)
              << forward_kernel.name << ", " << backward_kernel.name << ", result " << k;
        }
        EXPECT_TRUE(attention.run(forward_kernel, backward_kernel, 1) == results) << forward_kernel.name;
        EXPECT_TRUE(attention.run(forward_kernel, backward_kernel, 3) == results) << forward_kernel.name;
      }
    }
  }
}

TEST(Attention, SlowHandlesBlockRemainders) {
  expect_close({}, {2, 2, 256, 64});
  expect_close({}, {1, 1, 1000, 20});
  expect_close({}, {1, 1, 2048, 16});  // one head: every block of keys is a separate part
  expect_close({}, {1, 3, 1100, 8});
  expect_close({.causal = false}, {1, 1, 300, 33});
  expect_close({}, {1, 9, 270, 4});
  expect_close({}, {17, 1, 261, 8});
  expect_close({}, {1, 1, 300, 256});
  expect_close({.causal = false}, {1, 1, 520, 100});
  expect_close({.dropout_p = 0.2, .seed = 3, .place = 4}, {1, 1, 530, 128});
  expect_close({.causal = false, .dropout_p = 0.2, .seed = 3, .place = 4}, {1, 2, 280, 64});
}

TEST(Attention, SlowSharesKeyHeadsAmongQueryHeads) {
  expect_close({}, {2, 4, 300, 64}, 2);
  expect_close({}, {1, 9, 530, 64}, 3);
  expect_close({.causal = false}, {1, 6, 270, 80}, 1);
  expect_close({}, {5, 8, 70, 16}, 4);
  expect_close({.dropout_p = 0.2, .seed = 3, .place = 4}, {1, 4, 300, 100}, 2);
  expect_close({}, {1, 4, 140, 300}, 2);
}

// The math_mode of a record is the type of the factors in memory, even if a kernel widens them to float32.
TEST(Attention, KernelsStateTheTypeOf16BitFactors) {
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
    const Attention attention({}, dtype, {1, 2, 20, 16}, 2);
    for (const Signature& signature : {attention.forward_signature(), attention.backward_signature()}) {
      std::vector<Kernel> kernels = supporting_kernels(cpu::widest_isa(), signature);
      for (Kernel& kernel : supporting_kernels(cuda_kernels(), signature)) kernels.push_back(std::move(kernel));
      for (const Kernel& kernel : kernels)
        EXPECT_EQ(kernel.math_of_products(signature), math_of_factors(dtype)) << kernel.name;
    }
  }
}

// CUDA kernels read one key head for several query heads, in the layout of a model. They do not copy keys or their
// gradients for each query head, so shared heads need no additional workspace.
TEST(Attention, SharesKeyHeadsAmongQueryHeadsOnCuda) {
  const Shape shape{2, 6, 20, 16};
  LibraryQueue queue;
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    Attention attention({}, dtype, shape, 2);
    const Attention unshared({}, dtype, shape, 6);
    const auto truth = attention.run(reference_kernel(kScaledDotProductAttention),
                                     reference_kernel(kScaledDotProductAttentionBackward), 1);
    const std::vector<Kernel> forward = supporting_kernels(cuda_kernels(), attention.forward_signature());
    const std::vector<Kernel> backward = supporting_kernels(cuda_kernels(), attention.backward_signature());
    EXPECT_EQ(forward.size(), dtype == DType::kFloat32 ? 3U : 2U);
    ASSERT_EQ(backward.size(), forward.size());
    for (size_t i = 0; i < forward.size(); ++i) {
      SCOPED_TRACE(forward[i].name);
      const auto results = attention.run(forward[i], backward[i], queue);
      for (size_t k = 0; k < results.size(); ++k)
        EXPECT_LT(relative_distance(results[k], truth[k]), dtype == DType::kFloat32 ? 1e-3 : 8e-3) << k;
      EXPECT_LE(forward[i].workspace_bytes(attention.forward_signature()),
                forward[i].workspace_bytes(unshared.forward_signature()));
      EXPECT_LE(backward[i].workspace_bytes(attention.backward_signature()),
                backward[i].workspace_bytes(unshared.backward_signature()));
    }
  }
}

// If query heads share a key head, cuDNN first computes a key gradient for each query head, which may overflow float16.
TEST(Attention, CudnnRejectsSharedKeyHeadsInFloat16) {
  for (const int64_t kv_heads : {2, 6}) {
    const Attention attention({}, DType::kFloat16, {2, 6, 20, 16}, kv_heads);
    const auto backward = supporting_kernels(cuda_kernels(), attention.backward_signature());
    EXPECT_EQ(backward.size(), kv_heads == 6 ? 2U : 1U);
  }
}

TEST(Attention, SlowHandlesWideHeads) {
  expect_close({}, {1, 1, 33, 300});
  expect_close({}, {1, 1, 20, 1000});
  expect_close({}, {1, 1, 5, 16384});
  expect_close({.causal = false, .dropout_p = 0.2, .seed = 3, .place = 4}, {1, 2, 21, 512});
}

// Scores of about +-1000 must not overflow; their weights are 0 or 1.
TEST(Attention, HandlesLargeScores) {
  const Shape shape{1, 1, 40, 16};
  for (const cpu::Isa isa : cpu::runnable_isas()) {
    const TensorType type = contiguous_type(DType::kFloat32, shape);
    std::vector<GuardedTensor> in(3, GuardedTensor(type));
    for (size_t k = 0; k < 3; ++k) in[k].fill({.shape = shape}, k);
    for (int64_t i = 0; i < type.numel(); ++i) in[0].view().put(i, in[0].view().at(i) * 300);
    const std::vector<TensorView> views{in[0].view(), in[1].view(), in[2].view()};
    const Attributes attributes = AttentionAttributes{};
    const std::vector<TensorType> types(3, type);
    const Signature signature{&kScaledDotProductAttention, attributes, types,
                              kScaledDotProductAttention.infer(attributes, types)};
    std::map<bool, std::vector<double>> results;
    for (const bool reference : {true, false}) {
      GuardedTensor values(signature.out[0]);
      GuardedTensor log_sum_exp(signature.out[1]);
      const std::vector<TensorView> out{values.view(), log_sum_exp.view()};
      const Kernel kernel = reference ? reference_kernel(*signature.op) : supporting_kernels(isa, signature).at(0);
      cpu::Team team(1);
      kernel.launch({*signature.op, attributes, views, out, nullptr, team});
      results[reference] = elements_of(out[0]);
    }
    EXPECT_LT(relative_distance(results[false], results[true]), 1e-3);
  }
}

// Later positions must not change any bit of earlier rows.
TEST(Attention, CausalMaskHidesLaterKeys) {
  for (const int64_t width : {64, 300}) {
    const Layout layout = heads_within_positions({1, 2, 40, width});
    const TensorType type{DType::kFloat32, layout};
    const Attributes attributes = AttentionAttributes{};
    const std::vector<TensorType> types(3, type);
    const Signature signature{&kScaledDotProductAttention, attributes, types,
                              kScaledDotProductAttention.infer(attributes, types)};
    const Kernel kernel = supporting_kernels(cpu::widest_isa(), signature).at(0);
    const auto values_of = [&](double last) {
      std::vector<GuardedTensor> in(3, GuardedTensor(type));
      for (size_t k = 0; k < 3; ++k) {
        in[k].fill({.shape = type.shape()}, k);
        for (int64_t i = 0; i < width; ++i) in[k].view().put(39 * width + i, last);
      }
      const std::vector<TensorView> views{in[0].view(), in[1].view(), in[2].view()};
      GuardedTensor values(signature.out[0]);
      GuardedTensor log_sum_exp(signature.out[1]);
      const std::vector<TensorView> out{values.view(), log_sum_exp.view()};
      cpu::Team team(1);
      GuardedTensor workspace(contiguous_type(DType::kBool, {kernel.workspace_bytes(signature)}));
      kernel.launch({*signature.op, attributes, views, out, workspace.view().data, team});
      std::vector<double> result;
      for (int64_t i = 0; i < 39 * width; ++i) result.push_back(out[0].at(i));
      return result;
    };
    EXPECT_TRUE(values_of(1) == values_of(2e20));
  }
}

// The output has the layout of the queries, so that merging split heads is a view.
TEST(Attention, OutputHasTheLayoutOfQueries) {
  const TensorType q{DType::kFloat32, heads_within_positions({2, 3, 5, 4})};
  const TensorType k = contiguous_type(DType::kFloat32, {2, 3, 5, 4});
  const Attributes attributes = AttentionAttributes{};
  const auto out = kScaledDotProductAttention.infer(attributes, std::vector<TensorType>{q, k, k});
  EXPECT_EQ(out[0].layout, q.layout);
  EXPECT_TRUE(reshaped(permuted(out[0].layout, {0, 2, 1, 3}), {2, 5, 12}).has_value());
  const auto grads =
      kScaledDotProductAttentionBackward.infer(attributes, std::vector<TensorType>{q, k, k, out[0], out[1], out[0]});
  EXPECT_EQ(grads[0].layout, q.layout);
  EXPECT_EQ(grads[1].layout, k.layout);
}

// Expects the op to match its decomposition, both computed by the float64 reference kernels.
void expect_equal_decomposition(bool causal, AttentionForm form, int64_t kv_heads) {
  Builder build;
  const TensorType type = contiguous_type(DType::kFloat64, {2, 4, 6, 4});
  const TensorType keys = contiguous_type(DType::kFloat64, {2, kv_heads, 6, 4});
  const ValueId q = build.source("q", type, Role::kActivation);
  const ValueId k = build.source("k", keys, Role::kActivation);
  const ValueId v = build.source("v", keys, Role::kActivation);
  const ValueId step = build.source("step", contiguous_type(DType::kInt64, {}), Role::kInput);
  const auto scope = build.scope("attn");
  const ValueId whole =
      scaled_dot_product_attention(build, q, k, v, step, {.causal = causal, .dropout_p = 0.4, .seed = 9, .form = form});
  const Node node = *build.graph().producer(whole);
  const ValueId lowered = kScaledDotProductAttention.decompose(build, node.attributes, node.inputs)[0];
  const Graph graph = build.finish();
  Evaluation evaluation(graph);
  int seed = 0;
  for (const ValueId id : {q, k, v}) {
    GuardedTensor tensor(graph.value(id).type);
    tensor.fill({.shape = graph.value(id).type.shape()}, static_cast<uint64_t>(++seed));
    evaluation.set(id, elements_of(tensor.view()));
  }
  evaluation.set(step, {3});
  evaluation.run();
  const std::vector<double> a = evaluation.values(whole);
  const std::vector<double> b = evaluation.values(lowered);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-14);
  int masks = 0;
  for (const Node& lowered_node : graph.nodes) masks += lowered_node.op == &kCausalMask ? 1 : 0;
  EXPECT_EQ(masks, causal ? 1 : 0);
}

TEST(Attention, MatchesItsDecompositionWithDropout) {
  for (const bool causal : {true, false}) {
    for (const AttentionForm form : {AttentionForm::kModules, AttentionForm::kTransformers}) {
      for (const int64_t kv_heads : {1, 2, 4}) expect_equal_decomposition(causal, form, kv_heads);
    }
  }
}

TEST(Attention, CountsModelFlops) {
  const TensorType q = contiguous_type(DType::kFloat32, {2, 3, 5, 4});
  const Attributes attributes = AttentionAttributes{};
  const std::vector<TensorType> in{q, q, q};
  const Signature forward{&kScaledDotProductAttention, attributes, in,
                          kScaledDotProductAttention.infer(attributes, in)};
  EXPECT_EQ(flops_of(forward), 4.0 * 2 * 3 * 5 * 5 * 4);
  const std::vector<TensorType> back{q, q, q, forward.out[0], forward.out[1], q};
  const Signature backward{&kScaledDotProductAttentionBackward, attributes, back,
                           kScaledDotProductAttentionBackward.infer(attributes, back)};
  EXPECT_EQ(flops_of(backward), 2 * flops_of(forward));
}

}  // namespace
}  // namespace laptime::test
