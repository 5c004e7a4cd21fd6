// Attention backward with products of packed bfloat16 pairs: processes one block of keys at a time, against all blocks
// of rows that can attend to it.
#pragma once

#include <optional>

#include "ops/scaled_dot_product_attention/backward_cpu.h"
#include "ops/scaled_dot_product_attention/pairs/panels_cpu.h"

namespace laptime::LAPTIME_ISA::attention::pairs {

constexpr int64_t kBlockRows = 4 * kMicroTile;  // rows of queries in a block

// One part of one key head, for the query heads that read it. launch_backward runs it.
template <class Element, class Unit>
class BackwardPart {
 public:
  using Operand = typename FactorTerms<Element, Unit>::Operand;
  using Score = typename FactorTerms<Element, Unit>::Score;

  static int64_t pitch(int64_t width) { return align_up(width, kMicroTile); }
  // The number of floats in a part's grad_q sums, of shape [positions rounded up to whole blocks, pitch].
  static int64_t sum_floats(int64_t positions, int64_t width) {
    return (Size(align_up(positions, kBlockRows)) * pitch(width)).value();
  }
  static bool sums_fit_scratch(const KeyParts& parts, int64_t width) {
    constexpr int64_t kScratch = cpu::Team::kScratchBytes / int64_t{sizeof(float)};
    return parts.count == 1 && sum_floats(parts.positions, width) * parts.group <= kScratch - scratch_floats(width);
  }
  static float sum_scale(const AttentionShape& shape) { return shape.scale(); }

  BackwardPart(const KernelCall& call, const AttentionShape& shape, int64_t kv_head, QuerySums sums, bool only_part,
               std::byte* scratch)
      : call_(call),
        shape_(shape),
        kv_head_(kv_head),
        only_part_(only_part),
        pitch_(pitch(shape.width)),
        score_scale_(shape.scale() * kLog2E) {
    const int64_t width = shape.width;
    auto* next = reinterpret_cast<float*>(scratch);
    const auto take = [&](int64_t count) {
      float* const taken = next;
      next += count;
      return taken;
    };
    key_memory_ = take(Panels<Operand>::floats(kKeyBlock, width));
    value_memory_ = take(Panels<Operand>::floats(kKeyBlock, width));
    key_row_memory_ = take(Panels<Operand>::floats(width, kKeyBlock));
    query_memory_ = take(Panels<Operand>::floats(kBlockRows, width));
    grad_memory_ = take(Panels<Operand>::floats(kBlockRows, width));
    query_transposed_memory_ = take(Panels<Operand>::floats(width, kBlockRows));
    grad_transposed_memory_ = take(Panels<Operand>::floats(width, kBlockRows));
    weight_memory_ = take(Panels<Score>::floats(kKeyBlock, kBlockRows));
    grad_score_memory_ = take(Panels<Score>::floats(kKeyBlock, kBlockRows));
    left_grad_score_memory_ = take(2 * Panels<Score>::floats(kMicroTile, kKeyBlock));
    grad_keys_ = take(pitch_ * kPitch);
    grad_values_ = take(pitch_ * kPitch);
    scores_ = take(4 * kMicroTile * kPitch);
    log_sum_exp_ = take(kBlockRows);
    grad_dot_values_ = take(kBlockRows);
    query_sums_ = {sums.first == nullptr ? next : sums.first, sums.stride};
  }

  // Processes key blocks [first, end).
  void run(int64_t first, int64_t end, NextKeys) {
    Unit::begin();
    for (int64_t block = first; block < end; ++block) add_keys(block * kKeyBlock, block > first);
    Unit::end();
  }

 private:
  // The number of floats of scratch that the constructor uses, without the sums.
  static int64_t scratch_floats(int64_t width) {
    return 2 * Panels<Operand>::floats(kKeyBlock, width) + Panels<Operand>::floats(width, kKeyBlock) +
           2 * Panels<Operand>::floats(kBlockRows, width) + 2 * Panels<Operand>::floats(width, kBlockRows) +
           2 * Panels<Score>::floats(kKeyBlock, kBlockRows) + 2 * Panels<Score>::floats(kMicroTile, kKeyBlock) +
           2 * pitch(width) * kPitch + 4 * kMicroTile * kPitch + 2 * kBlockRows;
  }

  // Selects query head `member` of the group for the following functions.
  void select_query(int64_t member) {
    head_ = kv_head_ * shape_.group + member;
    sums_ = query_sums_.first + member * query_sums_.stride;
    operands_.emplace(call_, shape_, head_);
  }

  // Processes one block of keys. If `add`, adds to the grad_q sums of the part's earlier blocks.
  void add_keys(int64_t key, bool add) {
    const int64_t width = shape_.width;
    const int64_t keys = std::min(kKeyBlock, shape_.positions - key);
    select_query(0);
    keys_ = Panels<Operand>::pack_right(right_factor_transposed(operands_->k, key, keys, width), key_memory_);
    values_ = Panels<Operand>::pack_right(right_factor_transposed(operands_->v, key, keys, width), value_memory_);
    key_rows_ = Panels<Operand>::pack_right(right_factor(operands_->k, key, keys, width), key_row_memory_);
    std::fill_n(grad_keys_, pitch_ * kPitch, 0.0F);
    std::fill_n(grad_values_, pitch_ * kPitch, 0.0F);
    for (int64_t member = 0; member < shape_.group; ++member) {
      if (member > 0) select_query(member);
      for (int64_t row = operands_->first_row(key); row < shape_.positions; row += kBlockRows) {
        const ScoreBlock block{row, std::min(kBlockRows, shape_.positions - row), key, keys};
        load_rows(block);
        compute_weights(block, add);
        add_to_keys(block, grads_transposed_, weights_, grad_values_);
        add_to_keys(block, queries_transposed_, grad_scores_, grad_keys_);
        if (only_part_) operands_->write_finished_rows(block, sums_, pitch_, shape_.scale());
      }
    }
    write_transposed(grad_keys_, key, keys, shape_.scale(), operands_->grad_k);
    write_transposed(grad_values_, key, keys, 1, operands_->grad_v);
  }

  void load_rows(const ScoreBlock& block) {
    const auto [row, rows, key, keys] = block;
    const int64_t width = shape_.width;
    const auto& q = operands_->q;
    const auto& grads = operands_->grad_values;
    queries_ = Panels<Operand>::pack_left(left_factor(q, row, rows, width), query_memory_);
    grads_ = Panels<Operand>::pack_left(left_factor(grads, row, rows, width), grad_memory_);
    queries_transposed_ =
        Panels<Operand>::pack_left(left_factor_transposed(q, row, rows, width), query_transposed_memory_);
    grads_transposed_ =
        Panels<Operand>::pack_left(left_factor_transposed(grads, row, rows, width), grad_transposed_memory_);
    weights_ = {weight_memory_, steps_of(rows)};
    grad_scores_ = {grad_score_memory_, steps_of(rows)};
    operands_->load_row_constants(block, kBlockRows, grad_dot_values_, log_sum_exp_);
  }

  // The number of keys of the block that the 32 rows starting at `i` can attend to, rounded up to whole 32 x 32 tiles.
  int64_t end(const ScoreBlock& block, int64_t i) const {
    return align_up(operands_->keys_of_rows(block, i, kMicroTile), kMicroTile);
  }
  int64_t last_end(const ScoreBlock& block) const { return end(block, (block.rows - 1) / kMicroTile * kMicroTile); }

  // Computes weights, gradients of the scores, and their contributions to grad_q, as a pipeline: while the scores of 32
  // rows are turned into weights, the scores of the next 32 rows are computed, and the grad_scores of the previous 32
  // rows are multiplied by the keys.
  void compute_weights(const ScoreBlock& block, bool add) {
    auto nothing = no_work();
    multiply_scores(block, 0, nothing);
    for (int64_t row = 0; row < block.rows; row += kMicroTile) {
      const int64_t next = row + kMicroTile < block.rows ? end(block, row + kMicroTile) : 0;
      const int64_t before = row > 0 ? end(block, row - kMicroTile) : 0;
      const int64_t slots = 2 * next / kMicroTile * queries_.steps * kSlots<Operand, Operand> +
                            pitch_ / kMicroTile * steps_of(before) * kSlots<Score, Operand>;
      Interleaved weights(WeightsAndGradients(*this, block, row), kMicroTile / 2 * end(block, row) / kMicroTile,
                          std::max<int64_t>(1, slots));
      if (next > 0) multiply_scores(block, row + kMicroTile, weights);
      if (before > 0) add_to_queries(block, row - kMicroTile, add, weights);
      weights.run_rest();
    }
    add_to_queries(block, (block.rows - 1) / kMicroTile * kMicroTile, add, nothing);
  }

  // Groups of 32 rows alternate between two buffers.
  float* scores(int64_t row) const { return scores_ + row / kMicroTile % 2 * 2 * kMicroTile * kPitch; }
  float* grad_weights(int64_t row) const { return scores(row) + kMicroTile * kPitch; }
  float* left_grad_scores(int64_t row) const {
    return left_grad_score_memory_ + row / kMicroTile % 2 * Panels<Score>::floats(kMicroTile, kKeyBlock);
  }

  // scores = q k^T and grad_weights = grads v^T for 32 rows, not yet scaled.
  template <class Work>
  void multiply_scores(const ScoreBlock& block, int64_t row, Interleaved<Work>& work) {
    for (int64_t column = 0; column < end(block, row); column += kMicroTile) {
      Unit::template multiply<Operand, Operand>(queries_.at(row / kMicroTile), keys_.at(column / kMicroTile),
                                                queries_.steps, square_at(scores(row) + column, kPitch, false), work);
      Unit::template multiply<Operand, Operand>(grads_.at(row / kMicroTile), values_.at(column / kMicroTile),
                                                grads_.steps, square_at(grad_weights(row) + column, kPitch, false),
                                                work);
    }
  }

  // grad_q = grad_scores k for 32 rows, or += if `add`.
  template <class Work>
  void add_to_queries(const ScoreBlock& block, int64_t row, bool add, Interleaved<Work>& work) {
    for (int64_t column = 0; column < pitch_; column += kMicroTile)
      Unit::template multiply<Score, Operand>(
          left_grad_scores(row), key_rows_.at(column / kMicroTile), steps_of(end(block, row)),
          square_at(sums_ + (block.row + row) * pitch_ + column, pitch_, add), work);
  }

  // Computes weights 2^(score - log_sum_exp) and grad_scores of 32 rows, masked and after dropout, for 32 columns of
  // two rows at a time. Packs both as right factors with K along the rows, and grad_scores also as a left factor with K
  // along the keys.
  class WeightsAndGradients {
   public:
    WeightsAndGradients(BackwardPart& part, const ScoreBlock& block, int64_t row)
        : part_(part),
          block_(block),
          row_(row),
          end_(part.end(block, row)),
          scores_(part.scores(row)),
          grad_weights_(part.grad_weights(row)),
          left_(part.left_grad_scores(row)) {
      begin_rows();
    }

    bool next() {
      const std::array<Pair, 2> lower{pair_at(0, column_), pair_at(1, column_)};
      const std::array<Pair, 2> upper{pair_at(0, column_ + kLanes), pair_at(1, column_ + kLanes)};
      float* const weights = part_.weights_.at(column_ / kMicroTile, row_ / kMicroTile);
      float* const grads = part_.grad_scores_.at(column_ / kMicroTile, row_ / kMicroTile);
      float* const left = left_ + column_ / kMicroTile * Panels<Score>::kStepFloats;
      Score::across_k(lower[0].weight, lower[1].weight, line_ / 2, right_columns(weights, 0));
      Score::across_k(upper[0].weight, upper[1].weight, line_ / 2, right_columns(weights, kLanes));
      Score::across_k(lower[0].grad_score, lower[1].grad_score, line_ / 2, right_columns(grads, 0));
      Score::across_k(upper[0].grad_score, upper[1].grad_score, line_ / 2, right_columns(grads, kLanes));
      Score::along_k(lower[0].grad_score, upper[0].grad_score, line_ % kTile, left_row(left, line_));
      Score::along_k(lower[1].grad_score, upper[1].grad_score, line_ % kTile + 1, left_row(left, line_));
      column_ += kMicroTile;
      if (column_ < end_) return true;
      line_ += 2;
      if (line_ == kMicroTile) {
        clear_masked_squares();
        return false;
      }
      begin_rows();
      return true;
    }

   private:
    struct Pair {
      Vector weight, grad_score;  // `weight` includes dropout
    };
    // Returns columns [column, column + kLanes) of row i of the two rows.
    [[gnu::always_inline]] Pair pair_at(size_t i, int64_t column) const {
      const int64_t at = static_cast<int64_t>(i) * kPitch + column;
      Vector weight = exp2(load(scores_ + at) * part_.score_scale_ - log_sum_exp_[i]);
      if (visible_keys_[i] < column + kLanes) weight = first_lanes(weight, visible_keys_[i] - column, 0);
      const Vector grad = load(grad_weights_ + at);
      if (!part_.shape_.drops) return {weight, (grad - grad_dot_values_[i]) * weight};
      const Vector factor = load(dropout_factors_[i].data() + column);
      return {weight * factor, (grad * factor - grad_dot_values_[i]) * weight};
    }

    void begin_rows() {
      column_ = 0;
      if (line_ > 0) scores_ += 2 * kPitch;
      if (line_ > 0) grad_weights_ += 2 * kPitch;
      for (size_t i = 0; i < 2; ++i) {
        const int64_t row = row_ + line_ + static_cast<int64_t>(i);
        visible_keys_[i] = std::clamp<int64_t>(part_.operands_->visible_keys(block_, row), 0, block_.keys);
        log_sum_exp_[i] = part_.log_sum_exp_[row];
        grad_dot_values_[i] = part_.grad_dot_values_[row];
        if (part_.shape_.drops)
          part_.shape_.dropout_factors(part_.head_, block_.row + row, block_.key, kKeyBlock,
                                       dropout_factors_[i].data());
      }
    }
    // Writes zeros for keys that none of these 32 rows can attend to, but later rows of the block can.
    void clear_masked_squares() const {
      for (int64_t column = end_; column < part_.last_end(block_); column += kMicroTile) {
        std::fill_n(part_.weights_.at(column / kMicroTile, row_ / kMicroTile), Panels<Score>::kStepFloats, 0.0F);
        std::fill_n(part_.grad_scores_.at(column / kMicroTile, row_ / kMicroTile), Panels<Score>::kStepFloats, 0.0F);
      }
    }

    BackwardPart& part_;
    ScoreBlock block_;
    int64_t row_, end_;
    const float *scores_, *grad_weights_;  // scores and gradients of the current two rows
    float* left_;
    int64_t line_ = 0, column_ = 0;
    std::array<int64_t, 2> visible_keys_{};
    std::array<float, 2> log_sum_exp_{}, grad_dot_values_{};
    alignas(64) std::array<std::array<float, kKeyBlock>, 2> dropout_factors_;
  };

  // Adds the product of left and right to the transposed sums: grad_v^T += grads^T weights, or grad_k^T += q^T
  // grad_scores.
  void add_to_keys(const ScoreBlock& block, const Panels<Operand>& left, const Panels<Score>& right, float* sums) {
    auto nothing = no_work();
    for (int64_t key = 0; key < last_end(block); key += kMicroTile) {
      // Rows before step `first` cannot attend to any of these keys.
      const int64_t first = shape_.causal ? std::max<int64_t>(0, block.key + key - block.row) / kTileK : 0;
      for (int64_t column = 0; column < pitch_; column += kMicroTile)
        Unit::template multiply<Operand, Score>(left.at(column / kMicroTile, first), right.at(key / kMicroTile, first),
                                                right.steps - first,
                                                square_at(sums + column * kPitch + key, kPitch, true), nothing);
    }
  }

  // Transposes sums [pitch_, kPitch] into rows [key, key + keys) of `to`, multiplied by `scale`.
  void write_transposed(const float* sums, int64_t key, int64_t keys, float scale, const HeadRows<Element>& to) const {
    alignas(64) std::array<float, static_cast<size_t>(kLanes) * kMaxWidth> rows;
    for (int64_t i = 0; i < keys; i += kLanes) {
      for (int64_t column = 0; column < pitch_; column += kLanes) {
        LaneRows square;
        for (int64_t line = 0; line < kLanes; ++line)
          square[static_cast<size_t>(line)] = load(sums + (column + line) * kPitch + i);
        transpose(square);
        for (int64_t line = 0; line < kLanes; ++line)
          store(rows.data() + line * kMaxWidth + column, square[static_cast<size_t>(line)]);
      }
      for (int64_t line = 0; line < std::min<int64_t>(kLanes, keys - i); ++line)
        write_row(rows.data() + line * kMaxWidth, shape_.width, scale, to[key + i + line]);
    }
  }

  const KernelCall& call_;
  const AttentionShape& shape_;
  int64_t kv_head_;
  bool only_part_;
  int64_t pitch_;  // distance between rows of the grad_q sums
  float score_scale_;
  QuerySums query_sums_;
  int64_t head_ = 0;  // set by select_query, like operands_ and sums_
  std::optional<BackwardHead<Element>> operands_;
  // Packed factors of a block of keys.
  Panels<Operand> keys_, values_;  // right factors k^T and v^T, K along the width
  Panels<Operand> key_rows_;       // right factor k, K along the keys
  // Packed factors of a block of query rows.
  Panels<Operand> queries_, grads_;                        // left factors, K along the width
  Panels<Operand> queries_transposed_, grads_transposed_;  // left factors, K along the rows
  Panels<Score> weights_, grad_scores_;                    // right factors, K along the rows
  float *key_memory_, *value_memory_, *key_row_memory_;
  float *query_memory_, *grad_memory_, *query_transposed_memory_, *grad_transposed_memory_;
  float *weight_memory_, *grad_score_memory_;
  float* left_grad_score_memory_;    // packed A panels of grad_scores (K = keys), two buffers of 32 rows
  float *grad_keys_, *grad_values_;  // transposed: [pitch_, kPitch]
  float* scores_;                    // [2, 2, kMicroTile, kPitch]: scores and gradients of weights, each for 32 rows
  float *log_sum_exp_, *grad_dot_values_;  // [kBlockRows]
  float* sums_ = nullptr;                  // grad_q: [T in whole blocks, pitch_]
};

}  // namespace laptime::LAPTIME_ISA::attention::pairs
