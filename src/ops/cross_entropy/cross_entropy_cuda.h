// CUDA kernels of cross entropy. The log-sum-exp is float64, because its rounding error affects every probability in
// the row.
#pragma once

#include <cmath>
#include <type_traits>

#include "backend/cuda/block_sums.h"
#include "backend/cuda/row_sums.h"

namespace laptime::cuda {

// The number of elements from `position` to the next address that is a multiple of 16 bytes; 0 if `position` is at one.
// Packs of eight elements can be loaded from that address on.
LAPTIME_DEVICE int before_packs(const DeviceData& x, int64_t position) {
  const auto size = static_cast<int>(size_of(x.dtype));
  const auto past = static_cast<int>(reinterpret_cast<uintptr_t>(x.data + position * size) % kWordsBytes);
  return past == 0 ? 0 : (kWordsBytes - past) / size;
}

// True if rows have adjacent logits that can be moved in packs.
LAPTIME_DEVICE bool has_packs(const DeviceRows& logits) {
  return moves_fours(logits.dtype) && logits.column_stride == 1;
}

// The distance between adjacent columns of a pack.
using PackStep = std::integral_constant<int64_t, 1>;

// Calls body(column, step, logits) for groups of the logits that this thread processes in the row at `row`; logits[i]
// is in column `column` + i `step`. If `in_packs`, logits are loaded in packs, with a step of 1. A row may start at any
// element, so single logits may precede and follow the packs. Otherwise logits are loaded in groups of eight, and the
// remaining ones one by one.
template <class Body>
LAPTIME_DEVICE void for_logits(const Thread& thread, const DeviceRows& logits, int64_t row, int64_t columns,
                               bool in_packs, const Body& body) {
  constexpr int kTogether = 8;
  const int64_t threads = thread.threads();
  int64_t column = thread.index();
  const auto one = [&] {
    const float single[] = {load(thread, logits, row + column * logits.column_stride)};
    body(column, threads, single);
  };
  if (in_packs) {
    int64_t head = before_packs(logits, row);
    if (head > columns) head = columns;
    if (column < head) one();
    const int64_t packs = (columns - head) / kEight;
    for (int64_t pack = thread.index(); pack < packs; pack += 2 * threads) {
      const int64_t first = head + pack * kEight;
      const int64_t second = first + threads * kEight;
      const bool has_second = pack + threads < packs;
      const RawEight raw_first = load_eight(thread, logits, row + first);
      RawEight raw_second;
      if (has_second) raw_second = load_eight(thread, logits, row + second);
      float together[kEight];
      values_of(raw_first, logits.dtype, together);
      body(first, PackStep{}, together);
      if (!has_second) continue;
      values_of(raw_second, logits.dtype, together);
      body(second, PackStep{}, together);
    }
    column += head + packs * kEight;
  }
  for (; column + (kTogether - 1) * threads < columns; column += kTogether * threads) {
    int64_t positions[kTogether];
    for (int i = 0; i < kTogether; ++i) positions[i] = row + (column + i * threads) * logits.column_stride;
    float together[kTogether];
    load_many(thread, logits, positions, together);
    body(column, threads, together);
  }
  for (; column < columns; column += threads) one();
}

// One block per row of `logits`.
//   log_sum_exp = log(sum(exp(logits))), loss = log_sum_exp - logits[target]
struct CrossEntropyRows {
  struct Args {
    DeviceRows logits, targets;  // one target per row
    DeviceData log_sum_exp;      // [rows]; may be absent
    double* losses;              // [rows]
    int64_t columns;
  };
  struct Shared {
    WarpParts<float> maxima;
    WarpParts<double> sums;
  };
  // The number that is subtracted from the logits: their maximum, or 0 if that is infinite, because inf - inf is NaN.
  LAPTIME_DEVICE static float shift_of(float maximum) { return fabsf(maximum) == INFINITY ? 0 : maximum; }

  // Converts a sum of exp(logit - from) into a sum of exp(logit - to). An empty sum stays 0, because the factor may be
  // infinite, and 0 times infinity is NaN.
  LAPTIME_DEVICE static double rescaled(double sum, float from, float to) {
    return sum == 0 ? 0 : sum * static_cast<double>(expf(from - to));
  }

  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t row = args.logits.row(thread.block());
    const auto logit = [&](int64_t column) {
      return load(thread, args.logits, row + column * args.logits.column_stride);
    };
    // In a single pass, each thread keeps its largest logit so far, and the sum of exp(logit - shift). A new largest
    // logit rescales the sum.
    float row_max = -INFINITY;
    double row_sum = 0;
    const auto add = [&]<int kCount>(const float(&logits)[kCount]) {
      float next_max = row_max;
      for (int i = 0; i < kCount; ++i) next_max = fmaxf(next_max, logits[i]);
      const float shift = shift_of(next_max);
      if (next_max > row_max) row_sum = rescaled(row_sum, shift_of(row_max), shift);
      row_max = next_max;
      float exps[kCount];
      LAPTIME_UNROLL
      for (int i = 0; i < kCount; ++i) exps[i] = expf(logits[i] - shift);
      // Adds pairwise in float32, because converting every term to float64 takes as long as expf.
      LAPTIME_UNROLL
      for (int half = kCount / 2; half > 0; half /= 2) {
        LAPTIME_UNROLL
        for (int i = 0; i < half; ++i) exps[i] += exps[i + half];
      }
      row_sum += static_cast<double>(exps[0]);
    };
    for_logits(thread, args.logits, row, args.columns, has_packs(args.logits),
               [&](int64_t, int64_t, const auto& logits) { add(logits); });
    const float own_shift = shift_of(row_max);
    row_max = block_max(thread, shared.maxima, row_max);
    const float shift = shift_of(row_max);
    row_sum = block_sum(thread, shared.sums, rescaled(row_sum, own_shift, shift));
    if (thread.index() != 0) return;
    const double log_sum_exp = static_cast<double>(shift) + log(row_sum);
    const auto target = load<int64_t>(thread, args.targets, args.targets.row(thread.block()));
    thread.store(args.losses + thread.block(), log_sum_exp - static_cast<double>(logit(target)));
    if (args.log_sum_exp.data != nullptr) store(thread, args.log_sum_exp, thread.block(), log_sum_exp);
  }
};
LAPTIME_CUDA_KERNEL(CrossEntropyRows, cross_entropy_rows)

// Runs on one block. Computes the mean loss over the rows.
struct MeanLoss {
  struct Args {
    const double* losses;  // [rows]
    int64_t rows;
    DeviceData loss;
  };
  struct Shared {
    WarpParts<double> parts;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    double sum = 0;
    for (int64_t row = thread.index(); row < args.rows; row += thread.threads()) sum += thread.load(args.losses + row);
    sum = block_sum(thread, shared.parts, sum);
    if (thread.index() == 0) store(thread, args.loss, 0, sum / static_cast<double>(args.rows));
  }
};
LAPTIME_CUDA_KERNEL(MeanLoss, mean_loss)

// One block per row: grad = (exp(logit - log_sum_exp) - onehot) grad_loss / rows; may overwrite the logits.
struct CrossEntropyBackward {
  static constexpr int kThreads = 256;
  struct Args {
    DeviceData grad_loss;
    DeviceRows logits, targets, log_sum_exp;  // targets and log_sum_exp: one element per row
    DeviceRows grad;                          // adjacent columns
    int64_t columns;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const float scale = load(thread, args.grad_loss, 0) / static_cast<float>(thread.blocks());
    const int64_t row = args.logits.row(thread.block());
    const auto log_sum_exp = load<double>(thread, args.log_sum_exp, args.log_sum_exp.row(thread.block()));
    const auto target = load<int64_t>(thread, args.targets, args.targets.row(thread.block()));
    // Subtracts log_sum_exp as the sum of two floats, because converting every logit to float64 takes longer than exp.
    const auto high = static_cast<float>(log_sum_exp);
    const float low = fabsf(high) == INFINITY ? 0 : static_cast<float>(log_sum_exp - static_cast<double>(high));
    const int64_t grad_row = args.grad.row(thread.block());
    // True if packs of logits and packs of their gradients begin at the same columns.
    const bool in_packs = has_packs(args.logits) && moves_fours(args.grad.dtype) &&
                          before_packs(args.logits, row) == before_packs(args.grad, grad_row);
    const auto put = [&]<int kCount, class Step>(int64_t column, Step step, const float(&logits)[kCount]) {
      float grad[kCount];
      LAPTIME_UNROLL
      for (int i = 0; i < kCount; ++i) grad[i] = expf(logits[i] - high - low);
      // Compares once for all columns, because hardly any thread has the target.
      const int64_t from_column = target - column;
      if (from_column >= 0 && from_column < kCount * step) {
        LAPTIME_UNROLL
        for (int i = 0; i < kCount; ++i) grad[i] -= i * step == from_column ? 1.0F : 0.0F;
      }
      LAPTIME_UNROLL
      for (int i = 0; i < kCount; ++i) grad[i] *= scale;
      if constexpr (std::is_same_v<Step, PackStep>) {
        store_eight(thread, args.grad, grad_row + column, grad);
      } else {
        LAPTIME_UNROLL
        for (int i = 0; i < kCount; ++i) store(thread, args.grad, grad_row + column + i * step, grad[i]);
      }
    };
    for_logits(thread, args.logits, row, args.columns, in_packs, put);
  }
};
LAPTIME_CUDA_KERNEL(CrossEntropyBackward, cross_entropy_backward)

}  // namespace laptime::cuda
