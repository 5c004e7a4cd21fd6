// Matrix products of a model with d_model 768, d_ff 3072, vocabulary 10,000 on 4 x 256 tokens, forward and backward.
#include "kernel_runs.h"
#include "ops/matmul/matmul.h"

namespace laptime::bench {
namespace {

TensorType factor(DType dtype, Shape shape, bool transposed) {
  if (!transposed) return contiguous_type(dtype, shape);
  std::swap(shape[-1], shape[-2]);
  Dims axes = shape.rank() == 3 ? Dims{0, 2, 1} : Dims{1, 0};
  return {dtype, permuted(Layout::contiguous(shape), axes)};
}

// y = x W^T; grad x = grad y W; grad W = grad y^T x. The layouts as BLAS names them.
void add_linear(Machine& machine, DType dtype, int64_t tokens, int64_t inner, int64_t outer) {
  struct Form {
    const char* layout;
    int64_t m, n, k;
    bool a_transposed, b_transposed;
  };
  for (const Form& form :
       {Form{"NT", tokens, outer, inner, false, true}, Form{"NN", tokens, inner, outer, false, false},
        Form{"TN", outer, inner, tokens, true, false}}) {
    const Signature signature = signature_of(
        kMatmul, {},
        {factor(dtype, {form.m, form.k}, form.a_transposed), factor(dtype, {form.k, form.n}, form.b_transposed)});
    add_benchmarks(machine, signature,
                   fmt::format("{}_{}/{}x{}x{}", name_of(dtype), form.layout, form.m, form.n, form.k), Bound::kFlops);
  }
}

// Scores and values of 12 heads in a batch of 4.
void add_attention(Machine& machine, DType dtype) {
  const Signature scores =
      signature_of(kMatmul, {}, {factor(dtype, {48, 256, 64}, false), factor(dtype, {48, 64, 256}, true)});
  add_benchmarks(machine, scores, fmt::format("{}_scores/48x256x256x64", name_of(dtype)), Bound::kFlops);
  const Signature values =
      signature_of(kMatmul, {}, {factor(dtype, {48, 256, 256}, false), factor(dtype, {48, 256, 64}, false)});
  add_benchmarks(machine, values, fmt::format("{}_values/48x256x64x256", name_of(dtype)), Bound::kFlops);
}

void add(Machine& machine) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    add_linear(machine, dtype, 1024, 768, 768);
    add_linear(machine, dtype, 1024, 768, 3072);
    add_linear(machine, dtype, 1024, 3072, 768);
    add_linear(machine, dtype, 1024, 768, 10000);
    add_attention(machine, dtype);
  }
}

}  // namespace
}  // namespace laptime::bench

int main(int argc, char** argv) { return laptime::bench::run_benchmarks(argc, argv, laptime::bench::add); }
