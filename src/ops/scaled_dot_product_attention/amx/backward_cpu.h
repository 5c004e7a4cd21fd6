// Attention backward by tiles of AMX: blocks of keys, the weights made again from the log-sum-exp (Dao et al. 2022).
#pragma once

#include "ops/scaled_dot_product_attention/amx/blocks_cpu.h"

namespace laptime::LAPTIME_ISA {

constexpr int64_t kBlockRows = 4 * kSquare;  // of queries

// One part of the keys of one head.
template <class Element>
class AmxBackwardPart {
 public:
  using Input = typename AmxTerms<Element>::Input;
  using Made = typename AmxTerms<Element>::Made;

  static int64_t pitch(int64_t width) { return align_up(width, kSquare); }
  // Floats of a part's sums of grad_q.
  static int64_t sums(int64_t positions, int64_t width) {
    return (Size(align_up(positions, kBlockRows)) * pitch(width)).value();
  }
  // Floats of scratch without them.
  static int64_t floats(int64_t width) {
    return 2 * Panels<Input>::floats(kKeyBlock, width) + Panels<Input>::floats(width, kKeyBlock) +
           2 * Panels<Input>::floats(kBlockRows, width) + 2 * Panels<Input>::floats(width, kBlockRows) +
           2 * Panels<Made>::floats(kKeyBlock, kBlockRows) + 2 * Panels<Made>::floats(kSquare, kKeyBlock) +
           2 * pitch(width) * kPitch + 4 * kSquare * kPitch + 2 * kBlockRows;
  }
  static bool sums_in_scratch(const KeyParts& parts, int64_t width) {
    constexpr int64_t kScratch = cpu::Team::kScratchBytes / int64_t{sizeof(float)};
    return parts.count == 1 && sums(parts.positions, width) <= kScratch - floats(width);
  }

  // The sums of grad_q go to `sums`, or stay in the scratch if null, and from there to grad_q if there is no other
  // part.
  AmxBackwardPart(const KernelCall& call, const AttentionShape& shape, int64_t head, float* sums, bool only,
                  std::byte* scratch)
      : call_(call),
        shape_(shape),
        head_(head),
        only_(only),
        pitch_(pitch(shape.width)),
        score_scale_(shape.scale() * kLog2E),
        q_(head_rows<const Element>(call.in[0], head)),
        k_(head_rows<const Element>(call.in[1], head)),
        v_(head_rows<const Element>(call.in[2], head)),
        values_(head_rows<const Element>(call.in[3], head)),
        grads_(head_rows<const Element>(call.in[5], head)),
        log_sum_exp_(head_rows<const float>(call.in[4], head)) {
    const int64_t width = shape.width;
    auto* next = reinterpret_cast<float*>(scratch);
    const auto take = [&](int64_t count) {
      float* const taken = next;
      next += count;
      return taken;
    };
    key_words_ = take(Panels<Input>::floats(kKeyBlock, width));
    value_words_ = take(Panels<Input>::floats(kKeyBlock, width));
    key_row_words_ = take(Panels<Input>::floats(width, kKeyBlock));
    query_words_ = take(Panels<Input>::floats(kBlockRows, width));
    grad_words_ = take(Panels<Input>::floats(kBlockRows, width));
    query_row_words_ = take(Panels<Input>::floats(width, kBlockRows));
    grad_row_words_ = take(Panels<Input>::floats(width, kBlockRows));
    weight_words_ = take(Panels<Made>::floats(kKeyBlock, kBlockRows));
    grad_score_words_ = take(Panels<Made>::floats(kKeyBlock, kBlockRows));
    left_words_ = take(2 * Panels<Made>::floats(kSquare, kKeyBlock));
    grad_keys_ = take(pitch_ * kPitch);
    grad_values_ = take(pitch_ * kPitch);
    scores_ = take(4 * kSquare * kPitch);
    block_log_sum_exp_ = take(kBlockRows);
    product_ = take(kBlockRows);
    sums_ = sums == nullptr ? next : sums;
  }

  // Blocks [first, last) of keys.
  void run(int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) add_keys(block * kKeyBlock, block > first);
  }

 private:
  struct Block {
    int64_t row, rows;
    int64_t key, keys;
  };
  // Keys of the block that row `i` of it sees, if causal without end.
  int64_t own(const Block& block, int64_t i) const {
    return shape_.causal ? block.row + i + 1 - block.key : block.keys;
  }
  // Those that the 32 rows from `i` on see, up to a whole square.
  int64_t end(const Block& block, int64_t i) const {
    return align_up(shape_.causal ? std::min(block.keys, own(block, i) + kSquare - 1) : block.keys, kSquare);
  }
  int64_t last_end(const Block& block) const { return end(block, (block.rows - 1) / kSquare * kSquare); }

  void add_keys(int64_t key, bool summed) {
    const int64_t width = shape_.width;
    const int64_t keys = std::min(kKeyBlock, shape_.positions - key);
    key_columns_ = Panels<Input>::of_columns(columns_of(k_, key, keys, width), key_words_);
    value_columns_ = Panels<Input>::of_columns(columns_of(v_, key, keys, width), value_words_);
    key_rows_ = Panels<Input>::of_columns(depth_of(k_, key, keys, width), key_row_words_);
    std::fill_n(grad_keys_, pitch_ * kPitch, 0.0F);
    std::fill_n(grad_values_, pitch_ * kPitch, 0.0F);
    for (int64_t row = shape_.causal ? key : 0; row < shape_.positions; row += kBlockRows) {
      const Block block{row, std::min(kBlockRows, shape_.positions - row), key, keys};
      pack_rows(block);
      make_weights(block, summed);
      add_to_keys(block, grad_rows_, weights_, grad_values_);
      add_to_keys(block, query_rows_, grad_scores_, grad_keys_);
      finish_queries(block);
    }
    write_turned(grad_keys_, key, keys, shape_.scale(), head_rows<Element>(call_.out[1], head_));
    write_turned(grad_values_, key, keys, 1, head_rows<Element>(call_.out[2], head_));
  }

  void pack_rows(const Block& block) {
    const int64_t width = shape_.width;
    queries_ = Panels<Input>::of_rows(block_of(q_, block.row, block.rows, width), query_words_);
    block_grads_ = Panels<Input>::of_rows(block_of(grads_, block.row, block.rows, width), grad_words_);
    query_rows_ = Panels<Input>::of_rows(turned_of(q_, block.row, block.rows, width), query_row_words_);
    grad_rows_ = Panels<Input>::of_rows(turned_of(grads_, block.row, block.rows, width), grad_row_words_);
    weights_ = {weight_words_, steps_of(block.rows)};
    grad_scores_ = {grad_score_words_, steps_of(block.rows)};
    for (int64_t i = 0; i < kBlockRows; ++i) {
      product_[i] = block_log_sum_exp_[i] = 0;
      if (i >= block.rows) continue;
      product_[i] = row_product(values_[block.row + i], grads_[block.row + i], width);
      block_log_sum_exp_[i] = *log_sum_exp_[block.row + i] * kLog2E;
    }
  }

  // And grad_q. While the scores of 32 rows become weights, those of the next are multiplied, and what the last add to
  // grad_q.
  void make_weights(const Block& block, bool summed) {
    auto nothing = nothing_aside();
    multiply_scores(block, 0, nothing);
    for (int64_t row = 0; row < block.rows; row += kSquare) {
      const int64_t next = row + kSquare < block.rows ? end(block, row + kSquare) : 0;
      const int64_t last = row > 0 ? end(block, row - kSquare) : 0;
      const int64_t times = 2 * next / kSquare * queries_.steps * kTimes<Input, Input> +
                            pitch_ / kSquare * steps_of(last) * kTimes<Made, Input>;
      Aside weighing(Weighing(*this, block, row), kSquare / 2 * end(block, row) / kSquare, std::max<int64_t>(1, times));
      if (next > 0) multiply_scores(block, row + kSquare, weighing);
      if (last > 0) add_to_queries(block, row - kSquare, summed, weighing);
      weighing.rest();
    }
    add_to_queries(block, (block.rows - 1) / kSquare * kSquare, summed, nothing);
  }

  // Of one of two neighbours.
  float* scores(int64_t row) const { return scores_ + row / kSquare % 2 * 2 * kSquare * kPitch; }
  float* grad_weights(int64_t row) const { return scores(row) + kSquare * kPitch; }
  float* left_words(int64_t row) const {
    return left_words_ + row / kSquare % 2 * Panels<Made>::floats(kSquare, kKeyBlock);
  }

  // Of 32 rows.
  template <class Work>
  void multiply_scores(const Block& block, int64_t row, Aside<Work>& aside) {
    for (int64_t column = 0; column < end(block, row); column += kSquare) {
      square_of<Input, Input>(queries_.at(row / kSquare), key_columns_.at(column / kSquare), queries_.steps,
                              square_at(scores(row) + column, kPitch, false), aside);
      square_of<Input, Input>(block_grads_.at(row / kSquare), value_columns_.at(column / kSquare), block_grads_.steps,
                              square_at(grad_weights(row) + column, kPitch, false), aside);
    }
  }

  // grad_q += grad_scores keys, of 32 rows.
  template <class Work>
  void add_to_queries(const Block& block, int64_t row, bool summed, Aside<Work>& aside) {
    for (int64_t column = 0; column < pitch_; column += kSquare)
      square_of<Made, Input>(left_words(row), key_rows_.at(column / kSquare), steps_of(end(block, row)),
                             square_at(sums_ + (block.row + row) * pitch_ + column, pitch_, summed), aside);
  }

  // Weights and gradients of the scores, before the scale, of 32 rows, packed at once: as right factors with K along
  // the rows, and the gradients as a left one with K along the keys; 32 columns of two rows at a time. Zeros where a
  // row does not see keys that others see.
  class Weighing {
   public:
    Weighing(AmxBackwardPart& part, const Block& block, int64_t row)
        : part_(part),
          block_(block),
          row_(row),
          end_(part.end(block, row)),
          scores_(part.scores(row)),
          grad_weights_(part.grad_weights(row)),
          left_(part.left_words(row)) {
      begin_rows();
    }

    bool unit() {
      const std::array<Weighed, 2> lower{weighed(0, column_), weighed(1, column_)};
      const std::array<Weighed, 2> upper{weighed(0, column_ + kLanes), weighed(1, column_ + kLanes)};
      float* const weights = part_.weights_.at(column_ / kSquare, row_ / kSquare);
      float* const grads = part_.grad_scores_.at(column_ / kSquare, row_ / kSquare);
      float* const left = left_ + column_ / kSquare * Panels<Made>::kStepFloats;
      Made::across(lower[0].weight, lower[1].weight, line_ / 2, to_right(weights, 0));
      Made::across(upper[0].weight, upper[1].weight, line_ / 2, to_right(weights, kLanes));
      Made::across(lower[0].grad, lower[1].grad, line_ / 2, to_right(grads, 0));
      Made::across(upper[0].grad, upper[1].grad, line_ / 2, to_right(grads, kLanes));
      Made::along(lower[0].grad, upper[0].grad, line_ % kTile, to_left(left, line_));
      Made::along(lower[1].grad, upper[1].grad, line_ % kTile + 1, to_left(left, line_));
      column_ += kSquare;
      if (column_ < end_) return true;
      line_ += 2;
      if (line_ == kSquare) {
        clear_unseen();
        return false;
      }
      begin_rows();
      return true;
    }

   private:
    struct Weighed {
      Vector weight, grad;  // after dropout; of the score
    };
    [[gnu::always_inline]] Weighed weighed(size_t i, int64_t column) const {
      const int64_t at = static_cast<int64_t>(i) * kPitch + column;
      Vector weight = exp2(load(scores_ + at) * part_.score_scale_ - log_sum_exp_[i]);
      if (seen_[i] < column + kLanes) weight = first_lanes(weight, seen_[i] - column, 0);
      const Vector grad = load(grad_weights_ + at);
      if (!part_.shape_.drops) return {weight, (grad - product_[i]) * weight};
      const Vector factor = load(kept_[i].data() + column);
      return {weight * factor, (grad * factor - product_[i]) * weight};
    }

    void begin_rows() {
      column_ = 0;
      if (line_ > 0) scores_ += 2 * kPitch;
      if (line_ > 0) grad_weights_ += 2 * kPitch;
      for (int64_t i = 0; i < 2; ++i) {
        const auto of_pair = static_cast<size_t>(i);
        const int64_t row = row_ + line_ + i;
        seen_[of_pair] = std::clamp<int64_t>(part_.own(block_, row), 0, block_.keys);
        log_sum_exp_[of_pair] = part_.block_log_sum_exp_[row];
        product_[of_pair] = part_.product_[row];
        if (part_.shape_.drops)
          part_.shape_.kept(part_.head_, block_.row + row, block_.key, kKeyBlock, kept_[of_pair].data());
      }
    }
    void clear_unseen() const {
      for (int64_t column = end_; column < part_.last_end(block_); column += kSquare) {
        std::fill_n(part_.weights_.at(column / kSquare, row_ / kSquare), Panels<Made>::kStepFloats, 0.0F);
        std::fill_n(part_.grad_scores_.at(column / kSquare, row_ / kSquare), Panels<Made>::kStepFloats, 0.0F);
      }
    }

    AmxBackwardPart& part_;
    Block block_;
    int64_t row_, end_;
    const float *scores_, *grad_weights_;
    float* left_;
    int64_t line_ = 0, column_ = 0;
    std::array<int64_t, 2> seen_{};
    std::array<float, 2> log_sum_exp_{}, product_{};
    alignas(64) std::array<std::array<float, kKeyBlock>, 2> kept_;
  };

  // grad_v^T += grads^T weights, grad_k^T += queries^T grad_scores.
  void add_to_keys(const Block& block, const Panels<Input>& left, const Panels<Made>& right, float* sums) {
    auto nothing = nothing_aside();
    for (int64_t key = 0; key < last_end(block); key += kSquare) {
      // Rows before step `first` see none of the keys.
      const int64_t first = shape_.causal ? std::max<int64_t>(0, block.key + key - block.row) / kStep : 0;
      for (int64_t column = 0; column < pitch_; column += kSquare)
        square_of<Input, Made>(left.at(column / kSquare, first), right.at(key / kSquare, first), right.steps - first,
                               square_at(sums + column * kPitch + key, kPitch, true), nothing);
    }
  }

  // Sums [width, kPitch] as rows of `to` from `key` on, times `scale`.
  void write_turned(const float* sums, int64_t key, int64_t keys, float scale, const HeadRows<Element>& to) const {
    alignas(64) std::array<float, static_cast<size_t>(kLanes) * kWidest> rows;
    for (int64_t i = 0; i < keys; i += kLanes) {
      for (int64_t column = 0; column < pitch_; column += kLanes) {
        LaneRows square;
        for (int64_t line = 0; line < kLanes; ++line)
          square[static_cast<size_t>(line)] = load(sums + (column + line) * kPitch + i);
        transpose(square);
        for (int64_t line = 0; line < kLanes; ++line)
          store(rows.data() + line * kWidest + column, square[static_cast<size_t>(line)]);
      }
      for (int64_t line = 0; line < std::min<int64_t>(kLanes, keys - i); ++line)
        write_row(rows.data() + line * kWidest, shape_.width, scale, to[key + i + line]);
    }
  }

  // Rows that no later block of keys meets.
  void finish_queries(const Block& block) const {
    const int64_t keys_end = block.key + block.keys;
    if (!only_ || (!shape_.causal && keys_end < shape_.positions)) return;
    const auto grad_q = head_rows<Element>(call_.out[0], head_);
    const int64_t last =
        std::min(block.row + block.rows, keys_end == shape_.positions ? keys_end : block.key + kKeyBlock);
    for (int64_t row = block.row; row < last; ++row)
      write_row(sums_ + row * pitch_, shape_.width, shape_.scale(), grad_q[row]);
  }

  const KernelCall& call_;
  const AttentionShape& shape_;
  int64_t head_;
  bool only_;
  int64_t pitch_;  // of sums
  float score_scale_;
  HeadRows<const Element> q_, k_, v_, values_, grads_;
  HeadRows<const float> log_sum_exp_;
  Panels<Input> key_columns_, value_columns_;  // right, K along the head's width
  Panels<Input> key_rows_;                     // right, along the keys
  Panels<Input> queries_, block_grads_;        // left, along the width
  Panels<Input> query_rows_, grad_rows_;       // left, along the rows
  Panels<Made> weights_, grad_scores_;         // right, along the rows
  float *key_words_, *value_words_, *key_row_words_, *query_words_, *grad_words_, *query_row_words_, *grad_row_words_;
  float *weight_words_, *grad_score_words_;
  float* left_words_;                    // grad_scores of 32 rows as a left factor, twice
  float *grad_keys_, *grad_values_;      // [pitch, kPitch]: turned
  float* scores_;                        // [2, 2, kSquare, kPitch]: of 32 rows, and the gradients of weights
  float *block_log_sum_exp_, *product_;  // [kBlockRows]: of powers of two; of grads and the forward op's values
  float* sums_;                          // of grad_q
};

}  // namespace laptime::LAPTIME_ISA
