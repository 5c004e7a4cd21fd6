// Attention a few rows at a time, for heads too wide to pack: the scratch holds whole rows of scores.
#pragma once

#include "ops/scaled_dot_product_attention/tiles/pack_cpu.h"
#include "ops/scaled_dot_product_attention/vector_math_cpu.h"

namespace laptime::LAPTIME_ISA::attention::rows {

using tiles::kTileColumns;
using tiles::kTileVectors;
using tiles::pack_row;

constexpr int kRowsAtOnce = 8;

// The scratch of one thread. Going over rows of queries, `left` and `grads` have rows of q and grad_values, and the
// columns of weights and grad_scores are keys; going over keys, they have rows of k and v, and the columns are queries.
struct Scratch {
  int64_t width_pitch, position_pitch;
  float* left;         // [kRowsAtOnce, width in whole RowLanes]
  float* grads;        // [kRowsAtOnce, width in whole RowLanes]
  float* weights;      // [kRowsAtOnce, T in whole RowLanes]
  float* grad_scores;  // [kRowsAtOnce, T in whole RowLanes]

  static int64_t bytes(int64_t positions, int64_t width) {
    return ((Size(align_up(positions, kRowLanes)) + align_up(width, kRowLanes)) * 2 * kRowsAtOnce * 4).value();
  }
  Scratch(const AttentionShape& shape, std::byte* scratch)
      : width_pitch(align_up(shape.width, kRowLanes)), position_pitch(align_up(shape.positions, kRowLanes)) {
    left = reinterpret_cast<float*>(scratch);
    grads = left + kRowsAtOnce * width_pitch;
    weights = grads + kRowsAtOnce * width_pitch;
    grad_scores = weights + kRowsAtOnce * position_pitch;
  }
};

// Some rows of one head, either of queries or of keys.
template <class Element>
class RowBlock {
 public:
  RowBlock(const AttentionShape& shape, int64_t head, int64_t first_row, std::byte* scratch)
      : shape_(shape),
        head_(head),
        first_row_(first_row),
        rows_(std::min<int64_t>(kRowsAtOnce, shape.positions - first_row)),
        scratch_(shape, scratch) {}

  void forward(const KernelCall& call) {
    load_rows(head_rows<const Element>(call.in[0], head_), shape_.scale() * kLog2E, scratch_.left);
    const int64_t end = shape_.causal ? first_row_ + rows_ : shape_.positions;
    multiply(scratch_.left, head_rows<const Element>(call.in[1], head_), 0, end, scratch_.weights);
    float* const log_sum_exp = call.out[1].data == nullptr ? nullptr : call.out[1].as<float>();
    for (int64_t i = 0; i < rows_; ++i) {
      const int64_t row = first_row_ + i;
      float* const weights = scratch_.weights + i * scratch_.position_pitch;
      float row_max = -__builtin_inff();
      float row_sum = 0;
      const int64_t keys = shape_.causal ? row + 1 : end;
      softmax_row(weights, keys, end, row_max, row_sum);
      for (int64_t key = 0; key < keys; ++key)
        weights[key] *= (shape_.drops ? shape_.dropout_factor(head_, row, key) : 1) / row_sum;
      if (log_sum_exp != nullptr) log_sum_exp[head_ * shape_.positions + row] = row_max * kLn2 + log_f32(row_sum);
    }
    weighted_sum(scratch_.weights, head_rows<const Element>(call.in[2], head_), 0, end, 1,
                 head_rows<Element>(call.out[0], head_));
  }

  // grad_q, and grad_values . values of each row, stored in grad_dot_values [heads, T].
  void backward_of_queries(const KernelCall& call, float* grad_dot_values) {
    load_rows(head_rows<const Element>(call.in[0], head_), shape_.scale() * kLog2E, scratch_.left);
    load_rows(head_rows<const Element>(call.in[5], head_), 1, scratch_.grads);
    const int64_t end = shape_.causal ? first_row_ + rows_ : shape_.positions;
    const auto keys = head_rows<const Element>(call.in[1], head_);
    multiply(scratch_.left, keys, 0, end, scratch_.weights);
    multiply(scratch_.grads, head_rows<const Element>(call.in[2], head_), 0, end, scratch_.grad_scores);
    const auto values = head_rows<const Element>(call.in[3], head_);
    for (int64_t i = 0; i < rows_; ++i) {
      const int64_t row = first_row_ + i;
      grad_dot_values[head_ * shape_.positions + row] =
          dot(values[row], scratch_.grads + i * scratch_.width_pitch, shape_.width);
      for (int64_t key = 0; key < end; ++key)
        differentiate_score(call, grad_dot_values, row, key, i * scratch_.position_pitch + key);
    }
    weighted_sum(scratch_.grad_scores, keys, 0, end, shape_.scale(), head_rows<Element>(call.out[0], head_));
  }

  // grad_k and grad_v, after backward_of_queries has run for all rows.
  void backward_of_keys(const KernelCall& call, const float* grad_dot_values) {
    load_rows(head_rows<const Element>(call.in[1], head_), shape_.scale() * kLog2E, scratch_.left);
    load_rows(head_rows<const Element>(call.in[2], head_), 1, scratch_.grads);
    const int64_t begin = shape_.causal ? first_row_ : 0;
    const auto queries = head_rows<const Element>(call.in[0], head_);
    const auto grads = head_rows<const Element>(call.in[5], head_);
    multiply(scratch_.left, queries, begin, shape_.positions, scratch_.weights);
    multiply(scratch_.grads, grads, begin, shape_.positions, scratch_.grad_scores);
    for (int64_t i = 0; i < rows_; ++i) {
      for (int64_t row = begin; row < shape_.positions; ++row)
        differentiate_score(call, grad_dot_values, row, first_row_ + i, i * scratch_.position_pitch + row);
    }
    weighted_sum(scratch_.grad_scores, queries, begin, shape_.positions, shape_.scale(),
                 head_rows<Element>(call.out[1], head_));
    weighted_sum(scratch_.weights, grads, begin, shape_.positions, 1, head_rows<Element>(call.out[2], head_));
  }

 private:
  void load_rows(HeadRows<const Element> from, float scale, float* to) const {
    for (int64_t i = 0; i < rows_; ++i) {
      float* const line = to + i * scratch_.width_pitch;
      pack_row(from[first_row_ + i], shape_.width, scale, line);
      std::fill(line + shape_.width, line + scratch_.width_pitch, 0.0F);
    }
    std::fill_n(to + rows_ * scratch_.width_pitch, (kRowsAtOnce - rows_) * scratch_.width_pitch, 0.0F);
  }

  // result[i][j] = left[i] . right[j] for j in [begin, end).
  void multiply(const float* left, HeadRows<const Element> right, int64_t begin, int64_t end, float* result) const {
    constexpr size_t kRowsInRegisters = kRowsAtOnce / kRowVectors;
    const int64_t whole = shape_.width / kRowLanes * kRowLanes;
    for (int64_t j = begin; j < end; ++j) {
      const Element* const row = right[j];
      alignas(64) std::array<float, kRowLanes> rest{};
      for (int64_t column = whole; column < shape_.width; ++column)
        rest[static_cast<size_t>(column - whole)] = widened(row[column]);
      for (size_t first = 0; first < kRowsAtOnce; first += kRowsInRegisters) {
        std::array<RowLanes, kRowsInRegisters> sums{};
        const auto add = [&](const auto* factors, int64_t column) {
#pragma GCC unroll 4
          for (size_t v = 0; v < kRowVectors; ++v) {
            const Vector factor = load(factors + v * kLanes);
            const float* const at = left + column + static_cast<int64_t>(v) * kLanes;
#pragma GCC unroll 8
            for (size_t i = 0; i < kRowsInRegisters; ++i)
              sums[i][v] =
                  multiply_add(load(at + static_cast<int64_t>(first + i) * scratch_.width_pitch), factor, sums[i][v]);
          }
        };
        for (int64_t column = 0; column < whole; column += kRowLanes) add(row + column, column);
        if (whole < shape_.width) add(rest.data(), whole);
        for (size_t i = 0; i < kRowsInRegisters; ++i)
          result[static_cast<int64_t>(first + i) * scratch_.position_pitch + j] = lane_sum(folded(sums[i]))[0];
      }
    }
  }

  // Row first_row_ + i of `to` = scale * sum over j in [begin, end) of factors[i][j] right[j].
  void weighted_sum(const float* factors, HeadRows<const Element> right, int64_t begin, int64_t end, float scale,
                    HeadRows<Element> to) const {
    for (int64_t column = 0; column < shape_.width; column += kTileColumns) {
      const int64_t columns = std::min<int64_t>(kTileColumns, shape_.width - column);
      std::array<std::array<Vector, kTileVectors>, kRowsAtOnce> sums{};
      alignas(64) std::array<float, kTileColumns> piece{};
      for (int64_t j = begin; j < end; ++j) {
        pack_row(right[j] + column, columns, 1, piece.data());
#pragma GCC unroll 8
        for (size_t i = 0; i < kRowsAtOnce; ++i) {
          const float factor = factors[static_cast<int64_t>(i) * scratch_.position_pitch + j];
#pragma GCC unroll 2
          for (size_t v = 0; v < kTileVectors; ++v)
            sums[i][v] = multiply_add(factor, load(piece.data() + v * kLanes), sums[i][v]);
        }
      }
      for (int64_t i = 0; i < rows_; ++i) {
        for (size_t v = 0; v < kTileVectors; ++v) store(piece.data() + v * kLanes, sums[static_cast<size_t>(i)][v]);
        write_row(piece.data(), columns, scale, to[first_row_ + i] + column);
      }
    }
  }

  // Turns `keys` scores into weights 2^(score - row_max), whose sum is row_sum, and masked ones up to `end` into zeros.
  static void softmax_row(float* scores, int64_t keys, int64_t end, float& row_max, float& row_sum) {
    for (int64_t key = 0; key < keys; ++key) row_max = scores[key] > row_max ? scores[key] : row_max;
    for (int64_t key = 0; key < keys; ++key) row_sum += scores[key] = exp_f32((scores[key] - row_max) * kLn2);
    for (int64_t key = keys; key < end; ++key) scores[key] = 0;
  }

  // Element `at` of `weights` has the score of `row` and `key` and becomes the weight, after dropout. That of
  // `grad_scores` has grad_values . v and becomes the gradient of the score, still to be scaled.
  void differentiate_score(const KernelCall& call, const float* grad_dot_values, int64_t row, int64_t key, int64_t at) {
    float& weight = scratch_.weights[at];
    float& grad = scratch_.grad_scores[at];
    if (shape_.causal && key > row) {
      weight = grad = 0;
      return;
    }
    const float log_sum_exp = *head_rows<const float>(call.in[4], head_)[row];
    const float dropout_factor = shape_.drops ? shape_.dropout_factor(head_, row, key) : 1;
    weight = exp_f32(weight * kLn2 - log_sum_exp);
    grad = (grad * dropout_factor - grad_dot_values[head_ * shape_.positions + row]) * weight;
    weight *= dropout_factor;
  }

  const AttentionShape& shape_;
  int64_t head_, first_row_, rows_;
  Scratch scratch_;
};

// Runs body(RowBlock) over all blocks of rows of all heads.
template <class Element, class Body>
void for_row_blocks(const KernelCall& call, const AttentionShape& shape, const Body& body) {
  cpu::Team& team = cpu::team_of(call);
  const int64_t blocks = ceil_div(shape.positions, kRowsAtOnce);
  team.parallel_for(shape.heads * blocks, [&](int64_t index, int thread) {
    RowBlock<Element> block(shape, index / blocks, index % blocks * kRowsAtOnce, team.scratch(thread));
    body(block);
  });
}

// (q [B, h, T, d], k, v[, step]) -> (values [B, h, T, d], log_sum_exp [B, h, T, 1])
template <class Element>
void forward(const KernelCall& call) {
  const AttentionShape shape(call, kForwardStep);
  for_row_blocks<Element>(call, shape, [&](RowBlock<Element>& block) { block.forward(call); });
}

// (q [B, h, T, d], k, v, values, log_sum_exp [B, h, T, 1], grad_values[, step])
//   -> (grad_q [B, h, T, d], grad_k, grad_v)
template <class Element>
void backward(const KernelCall& call) {
  const AttentionShape shape(call, kBackwardStep);
  auto* const grad_dot_values = reinterpret_cast<float*>(call.workspace);  // [heads, T]
  for_row_blocks<Element>(call, shape,
                          [&](RowBlock<Element>& block) { block.backward_of_queries(call, grad_dot_values); });
  for_row_blocks<Element>(call, shape,
                          [&](RowBlock<Element>& block) { block.backward_of_keys(call, grad_dot_values); });
}

inline int64_t backward_workspace(const Signature& signature) {
  const Shape& shape = signature.in[0].shape();  // [B, h, T, d]
  return (Size(shape[0]) * shape[1] * shape[2] * int64_t{sizeof(float)}).value();
}

}  // namespace laptime::LAPTIME_ISA::attention::rows
