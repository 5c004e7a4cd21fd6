// Benchmarks of the output layer and the loss with d_model 768, on 4 x 256 tokens and on half as many: linear,
// cross_entropy forward and backward, and the two matmuls of backward.
#include "graph/structural_ops.h"
#include "kernel_runs.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/linear/linear.h"
#include "ops/matmul/matmul.h"

namespace laptime::bench {
namespace {

void add_shape(Machine& machine, DType dtype, int64_t rows, int64_t d_model, int64_t columns) {
  const TensorType x = contiguous_type(dtype, {rows, d_model});
  const TensorType weight = contiguous_type(dtype, {columns, d_model});
  const TensorType logits = contiguous_type(DType::kFloat32, {rows, columns});
  const TensorType targets = contiguous_type(DType::kInt64, {rows});
  const TensorType log_sum_exp = contiguous_type(DType::kFloat64, {rows});
  const TensorType loss = contiguous_type(DType::kFloat32, {});
  const std::string label = fmt::format("{}/{}x{}x{}", name_of(dtype), rows, d_model, columns);
  const ProductAttributes wide{.compute = dtype, .output = DType::kFloat32, .addend = false};
  const auto add = [&](const OpCard& op, const Attributes& attributes, const std::vector<TensorType>& in, Bound bound) {
    add_benchmarks(machine, signature_of(op, attributes, in), label, bound);
  };
  add(kLinear, LinearAttributes{LinearForm::kEinsum, wide}, {x, weight}, Bound::kFlops);
  add(kCrossEntropy, CrossEntropyAttributes{}, {logits, targets}, Bound::kBytes);
  add(kCrossEntropyBackward, CrossEntropyBackwardAttributes{}, {loss, logits, targets, log_sum_exp}, Bound::kBytes);
  add(kMatmul, wide, {logits, weight}, Bound::kFlops);
  add(kMatmul, wide, {{DType::kFloat32, permuted(logits.layout, {1, 0})}, x}, Bound::kFlops);
}

void add(Machine& machine) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const int64_t rows : {1024, 512}) add_shape(machine, dtype, rows, 768, 10'000);
  }
}

}  // namespace
}  // namespace laptime::bench

int main(int argc, char** argv) { return laptime::bench::run_benchmarks(argc, argv, laptime::bench::add); }
