// Benchmarks of memory-bound kernels, on tensors of the small model: 4 x 256 tokens, d_model 768.
#include "kernel_runs.h"
#include "ops/adamw/adamw.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/norm/norm.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "ops/rope/rope.h"
#include "ops/softmax/softmax.h"
#include "ops/swiglu/swiglu.h"

namespace laptime::bench {
namespace {

// Benchmarks ops with the types that they have in a float32 step and in a bfloat16 step.
void add_whole(Machine& machine) {
  const auto bench = [&](const OpCard& op, const Attributes& attributes, const std::vector<TensorType>& in,
                         const std::string& label) {
    add_benchmarks(machine, signature_of(op, attributes, in), label, Bound::kBytes);
  };
  const TensorType tokens32 = contiguous_type(DType::kFloat32, {1024, 768});
  const TensorType channels = contiguous_type(DType::kFloat32, {768});
  const TensorType rstd = contiguous_type(DType::kFloat32, {1024, 1});
  const TensorType table = contiguous_type(DType::kFloat32, {256, 32});
  const TensorType targets = contiguous_type(DType::kInt64, {1024});
  const TensorType log_sum_exp = contiguous_type(DType::kFloat32, {1024});
  const TensorType loss = contiguous_type(DType::kFloat32, {});
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const TensorType tokens = contiguous_type(dtype, {1024, 768});
    const TensorType wide = contiguous_type(dtype, {1024, 3072});
    const TensorType logits = contiguous_type(dtype, {1024, 10000});
    const TensorType heads{dtype, permuted(Layout::contiguous({4, 256, 12, 64}), {0, 2, 1, 3})};
    const std::string name(name_of(dtype));
    const RmsNormAttributes norm{1e-5, dtype};
    bench(kRmsNorm, norm, {tokens32, channels}, name + "/1024x768");
    bench(kRmsNormBackward, NormBackwardAttributes{}, {tokens, tokens32, rstd, channels}, name + "/1024x768");
    bench(kRmsNormBackward, NormBackwardAttributes{.addend = true}, {tokens, tokens32, rstd, channels, tokens32},
          name + "/addend/1024x768");
    bench(kSwiglu, {}, {wide, wide}, name + "/1024x3072");
    bench(kSwigluBackward, {}, {wide, wide, wide}, name + "/1024x3072");
    for (const RopeForm form : {RopeForm::kInterleaved, RopeForm::kHalves}) {
      const RopeAttributes rope{form, dtype};
      const std::string label = name + "/" + name_of(form) + "/4x12x256x64";
      bench(kRope, rope, {heads, table, table}, label);
      bench(kRopeBackward, rope, {heads, table, table}, label);
    }
    bench(kCrossEntropy, CrossEntropyAttributes{}, {logits, targets}, name + "/1024x10000");
    bench(kCrossEntropyBackward, CrossEntropyBackwardAttributes{}, {loss, logits, targets, log_sum_exp},
          name + "/1024x10000");
  }
  const TensorType scores = contiguous_type(DType::kFloat32, {48, 256, 256});
  bench(kSoftmax, {}, {scores}, "float32/48x256x256");
  bench(kSoftmaxBackward, {}, {scores, scores}, "float32/48x256x256");
}

void add(Machine& machine) {
  add_whole(machine);
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
