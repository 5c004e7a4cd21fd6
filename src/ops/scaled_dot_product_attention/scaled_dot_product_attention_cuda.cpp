// Launches the CUDA kernels of attention.
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention_cuda.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "ops/scaled_dot_product_attention/dnn_attention_cuda.h"
#include "ops/scaled_dot_product_attention/product_attention_cuda.h"
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

void mask(const KernelCall& call) {
  const bool is_additive = call.attributes.as<CausalMaskAttributes>().is_additive;
  launch_elements<FillCausalMask>(call, call.out[0].numel(),
                                  {device_data(call.out[0]), call.out[0].shape()[0], is_additive ? 0.0F : 1.0F,
                                   is_additive ? std::numeric_limits<float>::lowest() : 0.0F});
}

AttentionArgs args_of(const KernelCall& call, size_t step_input) {
  const TensorView& q = call.in[0];
  const auto& attributes = call.attributes.as<AttentionAttributes>();
  AttentionArgs args{};
  args.q = rows_of(q);
  args.k = rows_of(call.in[1]);
  args.v = rows_of(call.in[2]);
  args.positions = q.shape()[-2];
  args.group = q.shape()[1] / call.in[1].shape()[1];
  args.width = static_cast<int>(q.shape()[-1]);
  args.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(args.width)));
  args.causal = attributes.causal;
  args.drops = attributes.dropout_p > 0;
  if (args.drops) {
    args.step = device_data(call.in[step_input]);
    args.counter = attributes.dropout().counter();
    args.threshold = dropout_threshold(attributes.dropout_p);
    args.dropout_scale = static_cast<float>(dropout_scale(attributes.dropout_p));
  }
  return args;
}

// The number of tiles of queries or of keys.
int64_t tiles_of(const TensorView& heads) {
  const int64_t positions = heads.shape()[-2];
  return row_count(heads) / positions * ((positions + kAttentionTile - 1) / kAttentionTile);
}

void forward(const KernelCall& call) {
  AttentionArgs args = args_of(call, 3);
  args.values = rows_of(call.out[0]);
  args.log_sum_exp = flat_of(call.out[1]);
  launch<AttentionForward>(call, tiles_of(call.in[0]), kAttentionThreads, args);
}

// (q, k, v, values, log_sum_exp, grad_values[, step]) -> (grad_q, grad_k, grad_v)
void backward(const KernelCall& call) {
  AttentionArgs args = args_of(call, 6);
  args.values = rows_of(call.in[3]);
  args.log_sum_exp = flat_of(call.in[4]);
  args.grad_values = rows_of(call.in[5]);
  args.grad_q = rows_of(call.out[0]);
  args.grad_k = rows_of(call.out[1]);
  args.grad_v = rows_of(call.out[2]);
  args.products = reinterpret_cast<float*>(call.workspace);
  launch<AttentionProducts>(call, row_count(call.in[0]), kWarp, args);
  launch<AttentionGradQ>(call, tiles_of(call.in[0]), kAttentionThreads, args);
  launch<AttentionGradKV>(call, tiles_of(call.in[1]), kAttentionThreads, args);
}

int64_t backward_workspace(const Signature& signature) {
  return (Size(signature.in[4].numel()) * static_cast<int64_t>(sizeof(float))).value();
}

static_assert(kMaxHeadWidth == kWidestFusedHeadOnGpu);

std::string refusal(const Signature& signature) {
  return signature.in[0].shape().back() > kMaxHeadWidth ? "heads are wider than 128" : "";
}

ProductMath product_math(const Signature& signature) { return math_of_factors(signature.in[0].dtype); }

}  // namespace

// Our own kernels come first, because they run on every GPU and take less memory. Trial runs show whether a library is
// faster.
std::vector<Kernel> scaled_dot_product_attention_kernels() {
  std::vector<Kernel> kernels{{.op = &kCausalMask, .name = "elements", .launch = mask},
                              {.op = &kScaledDotProductAttention,
                               .name = "tiles",
                               .supports = refusal,
                               .launch = forward,
                               .product_math = product_math},
                              {.op = &kScaledDotProductAttentionBackward,
                               .name = "tiles",
                               .supports = refusal,
                               .workspace = backward_workspace,
                               .launch = backward,
                               .product_math = product_math}};
  for (std::vector<Kernel> more : {dnn_attention_kernels(), product_attention_kernels()})
    std::ranges::move(more, std::back_inserter(kernels));
  return kernels;
}

}  // namespace laptime::cuda
