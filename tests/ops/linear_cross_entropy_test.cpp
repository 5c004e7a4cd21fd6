// Cross entropy of a linear layer: kernels compared with the references, gradients, folded casts, and the
// decomposition.
#include "ops/linear_cross_entropy/linear_cross_entropy.h"

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

struct LossSizes {
  Shape x;
  int64_t columns;
  bool bias = false;
};

// Operands of the forward or of the backward op.
std::vector<Operand> operands(const LossSizes& sizes, bool backward) {
  Shape rows = sizes.x;
  rows.erase(rows.rank() - 1);
  std::vector<Operand> operands;
  if (backward) operands.push_back({.shape = {}, .dtype = DType::kFloat32});
  const Values values = backward ? Values::kUnit : Values::kSigned;
  operands.push_back({.shape = sizes.x, .values = values});
  operands.push_back({.shape = {sizes.columns, sizes.x.back()}, .values = values});
  operands.push_back(
      {.shape = rows, .values = Values::kIndices, .dtype = DType::kInt64, .bound = static_cast<double>(sizes.columns)});
  // At least about the log-sum-exp of the logits, so that probabilities are at most slightly larger than 1.
  const double log_sum_exp = static_cast<double>(sizes.x.back());
  if (backward)
    operands.push_back({.shape = rows, .values = Values::kConstant, .dtype = DType::kFloat64, .bound = log_sum_exp});
  if (sizes.bias) operands.push_back({.shape = {sizes.columns}});
  return operands;
}

ConformanceCase forward(const LossSizes& sizes, const LinearCrossEntropyAttributes& attributes = {}) {
  return {.op = &kLinearCrossEntropy,
          .attributes = attributes,
          .inputs = operands(sizes, false),
          .arrangements = {Arrangement::kContiguous},
          .slack = 24,
          .absolute = 24};
}
// If the factors are bfloat16, gradients of logits are rounded to bfloat16. One of them may round in the opposite
// direction, so the tolerance is wide.
ConformanceCase backward(const LossSizes& sizes, const LinearCrossEntropyBackwardAttributes& attributes = {},
                         double absolute = 2e4) {
  return {.op = &kLinearCrossEntropyBackward,
          .attributes = attributes,
          .inputs = operands(sizes, true),
          .arrangements = {Arrangement::kContiguous},
          .slack = 24,
          .absolute = absolute};
}

std::vector<ConformanceCase> linear_cross_entropy_rows() {
  std::vector<ConformanceCase> rows;
  const auto add = [&](ConformanceCase row, std::vector<DType> dtypes, std::vector<Arrangement> arrangements) {
    row.dtypes = std::move(dtypes);
    row.arrangements = std::move(arrangements);
    row.may_refuse = all_arrangements();
    rows.push_back(std::move(row));
  };
  const std::vector<Arrangement> laid{Arrangement::kContiguous, Arrangement::kTransposed, Arrangement::kPadded};
  for (const LossSizes& sizes : std::vector<LossSizes>{
           {{1, 1}, 1}, {{1, 100}, 33}, {{5, 7}, 3, true}, {{3, 4, 9}, 65}, {{2, 3, 33}, 117, true}, {{29, 19}, 150}}) {
    add(forward(sizes), {DType::kFloat32, DType::kBFloat16}, laid);
    add(backward(sizes, {}, 24), {DType::kFloat32}, laid);
    add(backward(sizes), {DType::kBFloat16}, laid);
  }
  return rows;
}
LAPTIME_CONFORMANCE(LinearCrossEntropy, linear_cross_entropy_rows());

// Several tiles of rows and of columns, with smaller tiles at the end.
std::vector<ConformanceCase> tiles() {
  std::vector<ConformanceCase> rows;
  for (const LossSizes& sizes : std::vector<LossSizes>{{{17, 100}, 10'007}, {{1030, 3}, 1'100, true}}) {
    rows.push_back(forward(sizes));
    rows.push_back(backward(sizes, {}, 24));
    rows.back().dtypes = {DType::kFloat32};
    rows.push_back(backward(sizes));
    rows.back().dtypes = {DType::kBFloat16};
  }
  for (ConformanceCase& row : rows) row.may_refuse = all_arrangements();
  return rows;
}
LAPTIME_CONFORMANCE(LinearCrossEntropyTiles, tiles());

// Several chunks of rows in the CUDA kernel, with a smaller chunk at the end.
std::vector<ConformanceCase> chunks() {
  const LossSizes sizes{{150, 5}, 40, true};
  std::vector<ConformanceCase> rows{
      forward(sizes), backward(sizes, {}, 24), backward(sizes),
      backward(sizes, {.compute = DType::kBFloat16, .grad_weight = DType::kBFloat16, .grad_bias = DType::kBFloat16})};
  for (size_t i = 1; i < rows.size(); ++i) rows[i].dtypes = {i == 2 ? DType::kBFloat16 : DType::kFloat32};
  for (ConformanceCase& row : rows) row.may_refuse = all_arrangements();
  return rows;
}
LAPTIME_CONFORMANCE(LinearCrossEntropyChunks, chunks());

// Folded casts, and gradients whose types differ from those of the operands.
std::vector<ConformanceCase> folded() {
  const LossSizes sizes{{37, 21}, 101, true};
  const auto narrow = DType::kBFloat16;
  std::vector<ConformanceCase> rows{
      forward(sizes, {.compute = narrow}), backward(sizes, {.compute = narrow}),
      backward(sizes, {.compute = narrow, .grad_x = narrow, .grad_weight = narrow, .grad_bias = narrow}),
      backward(sizes, {.grad_x = DType::kFloat32, .grad_weight = DType::kFloat32}),
      backward(sizes, {.grad_x = narrow})};
  for (ConformanceCase& row : rows) row.may_refuse = all_arrangements();
  return rows;
}
LAPTIME_CONFORMANCE(LinearCrossEntropyFolded, folded());

TEST(LinearCrossEntropy, GradientMatchesFiniteDifferences) {
  for (const LossSizes& sizes : std::vector<LossSizes>{{{6, 3}, 5}, {{2, 3, 4}, 7, true}}) {
    expect_gradient(
        {.op = &kLinearCrossEntropy, .attributes = LinearCrossEntropyAttributes{}, .inputs = operands(sizes, false)});
  }
}

TEST(LinearCrossEntropy, FoldsCastsAndKeepsTheTypesOfGradients) {
  const Attributes plain = LinearCrossEntropyAttributes{};
  EXPECT_EQ(plain.text(), "linear=einsum loss=written_out");
  const Attributes in = *kLinearCrossEntropy.fold_input_cast(plain, 1, DType::kBFloat16);
  EXPECT_EQ(in.text(), "linear=einsum loss=written_out compute=bfloat16");
  EXPECT_TRUE(kLinearCrossEntropy.fold_input_cast(in, 0, DType::kBFloat16));
  EXPECT_FALSE(kLinearCrossEntropy.fold_input_cast(in, 0, DType::kFloat32));
  EXPECT_FALSE(kLinearCrossEntropy.fold_input_cast(plain, 2, DType::kBFloat16));

  const OpCard& op = kLinearCrossEntropyBackward;
  const Attributes back = LinearCrossEntropyBackwardAttributes{};
  const Attributes wide = *op.fold_output_cast(back, 1, DType::kFloat32);
  EXPECT_EQ(wide.text(), "grad_weight=float32");
  EXPECT_FALSE(op.fold_output_cast(wide, 1, DType::kBFloat16));
  const Attributes weight = *op.fold_input_cast(wide, 2, DType::kBFloat16);
  EXPECT_EQ(weight.text(), "compute=bfloat16 grad_weight=float32");
  EXPECT_EQ(op.fold_input_cast(weight, 1, DType::kBFloat16)->text(),
            "compute=bfloat16 grad_x=bfloat16 grad_weight=float32");
  EXPECT_FALSE(op.fold_input_cast(back, 0, DType::kBFloat16));
}

TEST(LinearCrossEntropy, CountsTheFlopsOfItsParts) {
  const std::vector<TensorType> in{contiguous_type(DType::kFloat32, {6, 3}), contiguous_type(DType::kFloat32, {5, 3}),
                                   contiguous_type(DType::kInt64, {6})};
  const Attributes attributes = LinearCrossEntropyAttributes{};
  EXPECT_EQ(flops_of({&kLinearCrossEntropy, attributes, in, kLinearCrossEntropy.infer(attributes, in)}),
            2 * 6 * 3 * 5 + 5 * 6 * 5);
}

TEST(LinearCrossEntropy, DecomposesIntoHeadAndLoss) {
  Builder build;
  const std::vector<ValueId> in{build.source("x", contiguous_type(DType::kFloat32, {2, 3, 4}), Role::kInput),
                                build.source("weight", contiguous_type(DType::kFloat32, {5, 4}), Role::kParameter),
                                build.source("targets", contiguous_type(DType::kInt64, {2, 3}), Role::kInput)};
  build.current.scope = "loss";
  build.current.parts = {{"head", "forward"}, {"loss", "criterion"}};
  const std::vector<ValueId> out = kLinearCrossEntropy.decompose(build, LinearCrossEntropyAttributes{}, in);
  EXPECT_EQ(build.current.scope, "loss");
  ASSERT_EQ(out.size(), 3U);
  const Graph graph = build.finish();
  verify(graph, "decompose");
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[0].op, &kLinear);
  EXPECT_EQ(graph.nodes[0].annotations.scope, "head");
  EXPECT_EQ(graph.nodes[0].annotations.frame, "forward");
  EXPECT_EQ(graph.nodes[1].op, &kCrossEntropy);
  EXPECT_EQ(graph.nodes[1].annotations.scope, "loss");
  EXPECT_EQ(graph.nodes[1].annotations.frame, "criterion");
  EXPECT_TRUE(graph.nodes[1].annotations.parts.empty());
  EXPECT_EQ(graph.producer(out[0]), &graph.nodes[1]);
  EXPECT_EQ(graph.producer(out[2]), &graph.nodes[0]);
}

}  // namespace
}  // namespace laptime::test
