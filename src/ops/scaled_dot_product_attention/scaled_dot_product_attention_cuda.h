// CUDA kernels of attention. Scores are computed tile by tile and never stored (Dao et al. 2022).
#pragma once

#include <cmath>

#include "backend/cuda/block_sums.h"
#include "backend/cuda/map_elements.h"
#include "backend/cuda/tensor.h"
#include "ops/dropout_key.h"

namespace laptime::cuda {

// Element (query, key) is `seen` if key <= query, otherwise `hidden`.
struct FillCausalMask {
  struct Args {
    DeviceData mask;  // [size, size]
    int64_t size;
    float seen, hidden;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    for_indices(thread, args.size * args.size, [&](int64_t at) {
      store(thread, args.mask, at, at % args.size <= at / args.size ? args.seen : args.hidden);
    });
  }
};
LAPTIME_CUDA_KERNEL(FillCausalMask, fill_causal_mask)

// q [B, h, T, d], k and v [B, g, T, d], and related operands; rows are counted over batches, heads and positions.
struct AttentionArgs {
  DeviceRows q, k, v;
  DeviceRows values;       // [B, h, T, d]
  DeviceRows log_sum_exp;  // one element per row; may be absent in forward
  DeviceRows grad_values, grad_q, grad_k, grad_v;
  float* products;  // workspace [rows]: the sum of grad_values * values over each row
  int64_t positions;
  int64_t group;  // h / g, the number of query heads that read one head of keys and values
  int width;
  float scale;  // scale of the scores, 1 / sqrt(d)
  bool causal;
  // Dropout of the weights, as in dropout.h.
  bool drops;
  DeviceData step;
  DropoutCounter counter;
  uint32_t threshold;
  float dropout_scale;

  // Given the first row of a query head, returns the first row of the key head that it reads.
  LAPTIME_DEVICE int64_t key_row(int64_t head_row) const { return quotient(head_row, positions * group) * positions; }
  LAPTIME_DEVICE uint64_t dropout_key(const Thread& thread) const {
    return drops ? counter.key(load<int64_t>(thread, step, 0)) : 0;
  }
  // The dropout factor of the weight of a key.
  LAPTIME_DEVICE float factor(uint64_t key, int64_t row, int64_t at) const {
    if (!drops) return 1;
    const uint64_t drawn = splitmix64(key + static_cast<uint64_t>(row * positions + at));
    return (drawn >> 40U) >= threshold ? dropout_scale : 0;
  }
};

// A block processes tiles of 16 rows of a head, with one thread for each pair of a query and a key.
constexpr int kAttentionTile = 16;
constexpr int kAttentionThreads = kAttentionTile * kAttentionTile;
constexpr int kMaxHeadWidth = 128;
constexpr int kHeadStride = kMaxHeadWidth + 1;  // the padding avoids bank conflicts within a column
constexpr int kColumnsPerThread = kMaxHeadWidth / kAttentionTile;

using HeadTile = SharedArray<float, kAttentionTile * kHeadStride>;
using ScoreTile = SharedArray<float, kAttentionThreads>;  // [query][key]

// Loads rows [first, first + kAttentionTile) of a head, with zeros from row `count` on.
LAPTIME_DEVICE void load_head(const Thread& thread, const DeviceRows& from, int64_t first, int64_t count, int width,
                              HeadTile& to) {
  for (int at = thread.index(); at < kAttentionTile * width; at += thread.threads()) {
    const int row = at / width;
    const int column = at - row * width;
    const float value = row < count ? load(thread, from, from.row(first + row) + column * from.column_stride) : 0.0F;
    thread.store(to, row * kHeadStride + column, value);
  }
}

LAPTIME_DEVICE float dot(const Thread& thread, const HeadTile& a, int a_row, const HeadTile& b, int b_row, int width) {
  float sum = 0;
  for (int i = 0; i < width; ++i)
    sum = fmaf(thread.load(a, a_row * kHeadStride + i), thread.load(b, b_row * kHeadStride + i), sum);
  return sum;
}

// One thread's part of a row of a head: the sums of columns `lane`, `lane` + kAttentionTile, ...
struct HeadSums {
  float of[kColumnsPerThread] = {};

  // Adds weight times row `row` of the tile.
  LAPTIME_DEVICE void add(const Thread& thread, float weight, const HeadTile& tile, int row, int lane, int width) {
    for (int j = 0; j < kColumnsPerThread; ++j) {
      const int column = lane + j * kAttentionTile;
      if (column < width) of[j] = fmaf(weight, thread.load(tile, row * kHeadStride + column), of[j]);
    }
  }
  LAPTIME_DEVICE void put(const Thread& thread, const DeviceRows& to, int64_t row, int lane, int width,
                          float scale) const {
    const int64_t begin = to.row(row);
    for (int j = 0; j < kColumnsPerThread; ++j) {
      const int column = lane + j * kAttentionTile;
      if (column < width) store(thread, to, begin + column * to.column_stride, of[j] * scale);
    }
  }
};

// The position of a block and thread: the head, the rows of the tile, and the element of the tile.
struct AttentionPlace {
  int64_t head_row;  // first row of the head, over all heads
  int64_t first;     // first position of the tile
  int64_t count;     // positions from `first` to the end of the head
  int row, lane;     // position of this thread in the tile

  LAPTIME_DEVICE AttentionPlace(const Thread& thread, int64_t positions) {
    const int64_t tiles = (positions + kAttentionTile - 1) / kAttentionTile;
    head_row = thread.block() / tiles * positions;
    first = thread.block() % tiles * kAttentionTile;
    count = positions - first;
    row = thread.index() / kAttentionTile;
    lane = thread.index() % kAttentionTile;
  }
};

// One block per tile of queries. Each row keeps the maximum m of its scores so far, and the sum l of exp(score - m). A
// larger maximum rescales the earlier sum.
struct AttentionForward {
  using Args = AttentionArgs;
  struct Shared {
    HeadTile q, k, v;
    ScoreTile weights;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const AttentionPlace at(thread, args.positions);
    const int64_t query = at.first + at.row;
    const int64_t key_row = args.key_row(at.head_row);
    const uint64_t key_of_dropout = args.dropout_key(thread);
    load_head(thread, args.q, at.head_row + at.first, at.count, args.width, shared.q);
    const int64_t end =
        args.causal && at.first + kAttentionTile < args.positions ? at.first + kAttentionTile : args.positions;
    float row_max = -INFINITY;
    float row_sum = 0;
    HeadSums sums;
    for (int64_t first_key = 0; first_key < end; first_key += kAttentionTile) {
      load_head(thread, args.k, key_row + first_key, args.positions - first_key, args.width, shared.k);
      load_head(thread, args.v, key_row + first_key, args.positions - first_key, args.width, shared.v);
      thread.synchronize();
      const int64_t key = first_key + at.lane;
      const bool visible = key < args.positions && (!args.causal || key <= query);
      const float score =
          visible ? dot(thread, shared.q, at.row, shared.k, at.lane, args.width) * args.scale : -INFINITY;
      float tile_max = score;
      for (int mask = kAttentionTile / 2; mask > 0; mask /= 2)
        tile_max = fmaxf(tile_max, thread.exchange(tile_max, mask));
      const float next_max = fmaxf(row_max, tile_max);
      const float weight = expf(score - next_max);
      float tile_sum = weight;
      for (int mask = kAttentionTile / 2; mask > 0; mask /= 2) tile_sum += thread.exchange(tile_sum, mask);
      const float rescale = expf(row_max - next_max);
      row_sum = row_sum * rescale + tile_sum;
      row_max = next_max;
      for (float& sum : sums.of) sum *= rescale;
      thread.store(shared.weights, thread.index(), weight * args.factor(key_of_dropout, at.head_row + query, key));
      thread.synchronize();
      for (int other = 0; other < kAttentionTile; ++other) {
        const float seen = thread.load(shared.weights, at.row * kAttentionTile + other);
        sums.add(thread, seen, shared.v, other, at.lane, args.width);
      }
      thread.synchronize();
    }
    if (at.row >= at.count) return;
    const int64_t row = at.head_row + query;
    sums.put(thread, args.values, row, at.lane, args.width, 1 / row_sum);
    if (at.lane == 0 && args.log_sum_exp.data != nullptr)
      store(thread, args.log_sum_exp, args.log_sum_exp.row(row), row_max + logf(row_sum));
  }
};
LAPTIME_CUDA_KERNEL(AttentionForward, attention_forward)

// One block per row: computes the sum of grad_values * values over the row.
struct AttentionProducts {
  using Args = AttentionArgs;
  struct Shared {
    WarpParts<float> parts;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t grad_row = args.grad_values.row(thread.block());
    const int64_t values_row = args.values.row(thread.block());
    float sum = 0;
    for (int column = thread.index(); column < args.width; column += thread.threads()) {
      sum = fmaf(load(thread, args.grad_values, grad_row + column * args.grad_values.column_stride),
                 load(thread, args.values, values_row + column * args.values.column_stride), sum);
    }
    sum = block_sum(thread, shared.parts, sum);
    if (thread.index() == 0) thread.store(args.products + thread.block(), sum);
  }
};
LAPTIME_CUDA_KERNEL(AttentionProducts, attention_products)

// Gradient terms of one query and one key: with the weight w, its dropout factor m and g = grad_values,
//   dropped = w m, grad_score = w (m (g v^T) - products)
struct GradScore {
  float dropped = 0, grad_score = 0;

  LAPTIME_DEVICE GradScore(const Thread& thread, const AttentionArgs& args, int64_t head_row, int64_t query,
                           int64_t key, uint64_t key_of_dropout, float product_qk, float product_gv) {
    if (query >= args.positions || key >= args.positions || (args.causal && key > query)) return;
    const int64_t row = head_row + query;
    const float weight = expf(product_qk * args.scale - load(thread, args.log_sum_exp, args.log_sum_exp.row(row)));
    const float factor = args.factor(key_of_dropout, row, key);
    dropped = weight * factor;
    grad_score = weight * (factor * product_gv - thread.load(args.products + row));
  }
};

// One block per tile of queries: grad_q = grad_scores k / sqrt(d).
struct AttentionGradQ {
  using Args = AttentionArgs;
  struct Shared {
    HeadTile q, grad, k, v;
    ScoreTile grad_scores;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const AttentionPlace at(thread, args.positions);
    const int64_t query = at.first + at.row;
    const int64_t key_row = args.key_row(at.head_row);
    const uint64_t key_of_dropout = args.dropout_key(thread);
    load_head(thread, args.q, at.head_row + at.first, at.count, args.width, shared.q);
    load_head(thread, args.grad_values, at.head_row + at.first, at.count, args.width, shared.grad);
    const int64_t end =
        args.causal && at.first + kAttentionTile < args.positions ? at.first + kAttentionTile : args.positions;
    HeadSums sums;
    for (int64_t first_key = 0; first_key < end; first_key += kAttentionTile) {
      load_head(thread, args.k, key_row + first_key, args.positions - first_key, args.width, shared.k);
      load_head(thread, args.v, key_row + first_key, args.positions - first_key, args.width, shared.v);
      thread.synchronize();
      const GradScore score(thread, args, at.head_row, query, first_key + at.lane, key_of_dropout,
                            dot(thread, shared.q, at.row, shared.k, at.lane, args.width),
                            dot(thread, shared.grad, at.row, shared.v, at.lane, args.width));
      thread.store(shared.grad_scores, thread.index(), score.grad_score);
      thread.synchronize();
      for (int other = 0; other < kAttentionTile; ++other) {
        const float grad_score = thread.load(shared.grad_scores, at.row * kAttentionTile + other);
        sums.add(thread, grad_score, shared.k, other, at.lane, args.width);
      }
      thread.synchronize();
    }
    if (at.row < at.count) sums.put(thread, args.grad_q, at.head_row + query, at.lane, args.width, args.scale);
  }
};
LAPTIME_CUDA_KERNEL(AttentionGradQ, attention_grad_q)

// One block per tile of keys: grad_v = (w m)^T g and grad_k = grad_scores^T q / sqrt(d), summed over the query heads
// that read the key head.
struct AttentionGradKV {
  using Args = AttentionArgs;
  struct Shared {
    HeadTile q, grad, k, v;
    ScoreTile dropped, grad_scores;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const AttentionPlace at(thread, args.positions);
    const uint64_t key_of_dropout = args.dropout_key(thread);
    load_head(thread, args.k, at.head_row + at.first, at.count, args.width, shared.k);
    load_head(thread, args.v, at.head_row + at.first, at.count, args.width, shared.v);
    HeadSums k_sums;
    HeadSums v_sums;
    for (int64_t head = 0; head < args.group; ++head) {
      const int64_t head_row = at.head_row * args.group + head * args.positions;
      // Queries before the tile cannot attend to its keys.
      for (int64_t first_query = args.causal ? at.first : 0; first_query < args.positions;
           first_query += kAttentionTile) {
        const int64_t count = args.positions - first_query;
        load_head(thread, args.q, head_row + first_query, count, args.width, shared.q);
        load_head(thread, args.grad_values, head_row + first_query, count, args.width, shared.grad);
        thread.synchronize();
        const GradScore score(thread, args, head_row, first_query + at.row, at.first + at.lane, key_of_dropout,
                              dot(thread, shared.q, at.row, shared.k, at.lane, args.width),
                              dot(thread, shared.grad, at.row, shared.v, at.lane, args.width));
        thread.store(shared.dropped, thread.index(), score.dropped);
        thread.store(shared.grad_scores, thread.index(), score.grad_score);
        thread.synchronize();
        for (int other = 0; other < kAttentionTile; ++other) {
          const int place = other * kAttentionTile + at.row;
          v_sums.add(thread, thread.load(shared.dropped, place), shared.grad, other, at.lane, args.width);
          k_sums.add(thread, thread.load(shared.grad_scores, place), shared.q, other, at.lane, args.width);
        }
        thread.synchronize();
      }
    }
    if (at.row >= at.count) return;
    k_sums.put(thread, args.grad_k, at.head_row + at.first + at.row, at.lane, args.width, args.scale);
    v_sums.put(thread, args.grad_v, at.head_row + at.first + at.row, at.lane, args.width, 1);
  }
};
LAPTIME_CUDA_KERNEL(AttentionGradKV, attention_grad_kv)

// Adds two gradients of the keys (or the values), each from a different set of query heads.
struct AttentionGradSum {
  using Args = Elements<3>;  // sum, a, b
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    map_elements<1, 2>(thread, args, [](const float(&in)[2], float(&out)[1]) { out[0] = in[0] + in[1]; });
  }
};
LAPTIME_CUDA_KERNEL(AttentionGradSum, attention_grad_sum)

}  // namespace laptime::cuda
