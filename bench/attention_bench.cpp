// Benchmarks of causal attention, forward and backward: 4 x 12 heads at context length 256, as in the small model, and
// 8 heads with longer contexts and other widths.
#include "kernel_runs.h"
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"

namespace laptime::bench {
namespace {

// Queries, keys or values (B, h, T, d), in the memory order (B, T, h, d) of the model.
TensorType heads(DType dtype, int64_t batch, int64_t heads, int64_t positions, int64_t width) {
  return {dtype, permuted(Layout::contiguous({batch, positions, heads, width}), {0, 2, 1, 3})};
}

// Adds benchmarks of one shape. Model FLOPs count two products in forward and five in backward, and in each product
// only the keys that a query attends to.
void add_shape(Machine& machine, DType dtype, int64_t batch, int64_t num_heads, int64_t positions, int64_t width) {
  const AttentionAttributes causal;
  const TensorType x = heads(dtype, batch, num_heads, positions, width);
  const Signature forward = signature_of(kScaledDotProductAttention, causal, {x, x, x});
  const std::vector<TensorType> in{x, x, x, x, forward.out[1], x};
  const Signature backward = signature_of(kScaledDotProductAttentionBackward, causal, in);
  const double product = static_cast<double>(batch * num_heads * positions * (positions + 1) * width);
  const std::string label = fmt::format("{}/{}x{}x{}", name_of(dtype), batch * num_heads, positions, width);
  add_benchmarks(machine, forward, label, Bound::kFlops, 2 * product);
  add_benchmarks(machine, backward, label, Bound::kFlops, 5 * product);
}

void add(Machine& machine) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    add_shape(machine, dtype, 4, 12, 256, 64);
    add_shape(machine, dtype, 8, 1, 1024, 64);
    add_shape(machine, dtype, 8, 1, 4096, 64);
    add_shape(machine, dtype, 8, 1, 1024, 16);
    add_shape(machine, dtype, 8, 1, 1024, 128);
  }
}

}  // namespace
}  // namespace laptime::bench

int main(int argc, char** argv) { return laptime::bench::run_benchmarks(argc, argv, laptime::bench::add); }
