// Kernels that move more than they compute, on the tensors of a model with d_model 768 and 4 x 256 tokens.
#include "kernel_runs.h"
#include "ops/adamw/adamw.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/log_softmax/log_softmax.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"

namespace laptime::bench {
namespace {

void add(Machine& machine) {
  const auto bench = [&](const OpCard& op, const Attributes& attributes, const std::vector<TensorType>& in,
                         const std::string& label) {
    add_benchmarks(machine, signature_of(op, attributes, in), label, Bound::kBytes);
  };
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const TensorType wide = contiguous_type(dtype, {1024, 3072});
    const TensorType tokens = contiguous_type(dtype, {1024, 768});
    const TensorType channels = contiguous_type(dtype, {768});
    const TensorType logits = contiguous_type(dtype, {1024, 10000});
    const std::string name(name_of(dtype));
    bench(kAdd, {}, {wide, wide}, name + "/1024x3072");
    bench(kSigmoid, {}, {wide}, name + "/1024x3072");
    bench(kMean, AxesAttributes{{1}}, {tokens}, name + "/1024x768");
    bench(kSum, AxesAttributes{{0}}, {wide}, name + "_columns/1024x3072");
    bench(kLayerNorm, LayerNormAttributes{}, {tokens, channels, channels}, name + "/1024x768");
    bench(kLogSoftmax, {}, {logits}, name + "/1024x10000");
  }
  const TensorType parameter = contiguous_type(DType::kFloat32, {10000, 768});
  const std::vector<TensorType> state{parameter,
                                      parameter,
                                      parameter,
                                      parameter,
                                      contiguous_type(DType::kInt64, {}),
                                      contiguous_type(DType::kFloat32, {})};
  bench(kAdamW, AdamWAttributes{}, state, "10000x768");
}

}  // namespace
}  // namespace laptime::bench

int main(int argc, char** argv) { return laptime::bench::run_benchmarks(argc, argv, laptime::bench::add); }
