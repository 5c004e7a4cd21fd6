// CUDA kernels that run between the matrix products of attention when scores are stored.
#pragma once

#include <cmath>

#include "backend/cuda/block_sums.h"
#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// One block per row of scores [rows, positions], which are products of q and k. Turns the scores into weights: the
// softmax of `scale` times the visible scores, and 0 elsewhere. Row r belongs to query r % positions.
struct AttentionWeights {
  struct Args {
    float* scores;
    DeviceRows log_sum_exp;  // one element per row; may be absent
    int64_t positions;
    float scale;
    bool causal;
  };
  struct Shared {
    WarpParts<float> parts;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    float* const row = args.scores + thread.block() * args.positions;
    const int64_t visible = args.causal ? thread.block() % args.positions + 1 : args.positions;
    float row_max = -INFINITY;
    for (int64_t key = thread.index(); key < visible; key += thread.threads())
      row_max = fmaxf(row_max, thread.load(row + key) * args.scale);
    row_max = block_max(thread, shared.parts, row_max);
    float row_sum = 0;
    for (int64_t key = thread.index(); key < visible; key += thread.threads())
      row_sum += expf(thread.load(row + key) * args.scale - row_max);
    row_sum = block_sum(thread, shared.parts, row_sum);
    for (int64_t key = thread.index(); key < args.positions; key += thread.threads()) {
      const float weight = key < visible ? expf(thread.load(row + key) * args.scale - row_max) / row_sum : 0.0F;
      thread.store(row + key, weight);
    }
    if (thread.index() == 0 && args.log_sum_exp.data != nullptr)
      store(thread, args.log_sum_exp, args.log_sum_exp.row(thread.block()), row_max + logf(row_sum));
  }
};
LAPTIME_CUDA_KERNEL(AttentionWeights, attention_weights)

// One block per row of scores and of grad_weights, which are products of grad_values and v. Turns scores into weights,
// and grad_weights into the gradients of the scores: weight * (grad_weight - product) * scale, where product is the
// row's element of `products`.
struct AttentionScoreGradients {
  struct Args {
    float* scores;
    float* grad_weights;
    DeviceRows log_sum_exp;  // one element per row
    const float* products;   // [rows]: the sum of grad_values * values over each row
    int64_t positions;
    float scale;
    bool causal;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    float* const row = args.scores + thread.block() * args.positions;
    float* const grad_row = args.grad_weights + thread.block() * args.positions;
    const int64_t visible = args.causal ? thread.block() % args.positions + 1 : args.positions;
    const float log_sum_exp = load(thread, args.log_sum_exp, args.log_sum_exp.row(thread.block()));
    const float product = thread.load(args.products + thread.block());
    for (int64_t key = thread.index(); key < args.positions; key += thread.threads()) {
      const float weight = key < visible ? expf(thread.load(row + key) * args.scale - log_sum_exp) : 0.0F;
      const float grad_score = key < visible ? weight * (thread.load(grad_row + key) - product) * args.scale : 0.0F;
      thread.store(row + key, weight);
      thread.store(grad_row + key, grad_score);
    }
  }
};
LAPTIME_CUDA_KERNEL(AttentionScoreGradients, attention_score_gradients)

}  // namespace laptime::cuda
