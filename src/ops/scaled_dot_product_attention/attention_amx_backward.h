// Attention backward by tiles of AMX: blocks of keys, the weights made again from the log-sum-exp (Dao et al. 2022).
#pragma once

#include "ops/scaled_dot_product_attention/attention_amx_blocks.h"

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
           2 * Panels<Made>::floats(kKeyBlock, kBlockRows) + Panels<Made>::floats(kSquare, kKeyBlock) +
           2 * pitch(width) * kPitch + 2 * kSquare * kPitch + 2 * kBlockRows;
  }
  static bool sums_in_scratch(const KeyParts& parts, int64_t width) {
    constexpr int64_t kScratch = cpu::Team::kScratchBytes / int64_t{sizeof(float)};
    return parts.count == 1 && sums(parts.positions, width) <= kScratch - floats(width);
  }

  // The sums of grad_q go to `sums`, or stay in the scratch if null, and from there to grad_q if there is no other part.
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
    left_words_ = take(Panels<Made>::floats(kSquare, kKeyBlock));
    grad_keys_ = take(pitch_ * kPitch);
    grad_values_ = take(pitch_ * kPitch);
    scores_ = take(kSquare * kPitch);
    grad_weights_ = take(kSquare * kPitch);
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
  // Those that row `i` sees.
  int64_t keys_of(const Block& block, int64_t i) const { return std::clamp<int64_t>(own(block, i), 0, block.keys); }
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
      for (int64_t i = 0; i < block.rows; i += kSquare) {
        multiply_scores(block, i);
        weigh(block, i);
        add_to_queries(block, i, summed);
      }
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
      const Element* const values = values_[block.row + i];
      const Element* const grads = grads_[block.row + i];
      Vector sum{};
      int64_t column = 0;
      for (; column + kLanes <= width; column += kLanes) sum += load(values + column) * load(grads + column);
      float rest = 0;
      for (; column < width; ++column) rest += widened(values[column]) * widened(grads[column]);
      product_[i] = lane_sum(sum)[0] + rest;
      block_log_sum_exp_[i] = *log_sum_exp_[block.row + i] * kLog2E;
    }
  }

  // Of 32 rows.
  void multiply_scores(const Block& block, int64_t row) {
    for (int64_t column = 0; column < end(block, row); column += kSquare) {
      square_of<Input, Input>(queries_.at(row / kSquare), key_columns_.at(column / kSquare), queries_.steps,
                              square_at(scores_ + column, kPitch, false));
      square_of<Input, Input>(block_grads_.at(row / kSquare), value_columns_.at(column / kSquare), block_grads_.steps,
                              square_at(grad_weights_ + column, kPitch, false));
    }
  }

  // Weights and gradients of the scores, before the scale, of 32 rows, packed at once: as right factors with K along the
  // rows, and the gradients as a left one with K along the keys. Zeros where a row does not see keys that others see.
  void weigh(const Block& block, int64_t row) {
    const int64_t step = row / kSquare;
    alignas(64) std::array<std::array<float, kKeyBlock>, 2> kept;
    for (int64_t line = 0; line < kSquare; line += 2) {
      if (shape_.drops) {
        for (int64_t i = 0; i < 2; ++i)
          shape_.kept(head_, block.row + row + line + i, block.key, kKeyBlock, kept[static_cast<size_t>(i)].data());
      }
      for (int64_t column = 0; column < end(block, row); column += kSquare) {
        float* const left_step = left_words_ + column / kSquare * Panels<Made>::kStepFloats;
        const auto pair_of = [&](int64_t from) {
          return std::array{weighed(block, row, line, from, shape_.drops ? kept[0].data() : nullptr),
                            weighed(block, row, line + 1, from, shape_.drops ? kept[1].data() : nullptr)};
        };
        const std::array<Weighed, 2> lower = pair_of(column);
        const std::array<Weighed, 2> upper = pair_of(column + kLanes);
        const auto weights_to = [&](int64_t at) { return to_right(weights_.at(column / kSquare, step), at); };
        const auto grads_to = [&](int64_t at) { return to_right(grad_scores_.at(column / kSquare, step), at); };
        Made::across(lower[0].weight, lower[1].weight, line / 2, weights_to(0));
        Made::across(upper[0].weight, upper[1].weight, line / 2, weights_to(kLanes));
        Made::across(lower[0].grad, lower[1].grad, line / 2, grads_to(0));
        Made::across(upper[0].grad, upper[1].grad, line / 2, grads_to(kLanes));
        Made::along(lower[0].grad, upper[0].grad, line % kTile, to_left(left_step, line));
        Made::along(lower[1].grad, upper[1].grad, line % kTile + 1, to_left(left_step, line));
      }
    }
    for (int64_t column = end(block, row); column < last_end(block); column += kSquare) {
      std::fill_n(weights_.at(column / kSquare, step), Panels<Made>::kStepFloats, 0.0F);
      std::fill_n(grad_scores_.at(column / kSquare, step), Panels<Made>::kStepFloats, 0.0F);
    }
  }

  struct Weighed {
    Vector weight, grad;  // after dropout; of the score
  };
  [[gnu::always_inline]] Weighed weighed(const Block& block, int64_t row, int64_t line, int64_t column,
                                         const float* kept) const {
    const int64_t seen = keys_of(block, row + line);
    Vector weight = exp2(load(scores_ + line * kPitch + column) * score_scale_ - block_log_sum_exp_[row + line]);
    if (seen < column + kLanes) weight = first_lanes(weight, seen - column, 0);
    const Vector grad = load(grad_weights_ + line * kPitch + column);
    if (kept == nullptr) return {weight, (grad - product_[row + line]) * weight};
    const Vector factor = load(kept + column);
    return {weight * factor, (grad * factor - product_[row + line]) * weight};
  }

  // grad_q += grad_scores keys, of 32 rows.
  void add_to_queries(const Block& block, int64_t row, bool summed) {
    for (int64_t column = 0; column < pitch_; column += kSquare)
      square_of<Made, Input>(left_words_, key_rows_.at(column / kSquare), steps_of(end(block, row)),
                             square_at(sums_ + (block.row + row) * pitch_ + column, pitch_, summed));
  }

  // grad_v^T += grads^T weights, grad_k^T += queries^T grad_scores.
  void add_to_keys(const Block& block, const Panels<Input>& left, const Panels<Made>& right, float* sums) {
    for (int64_t key = 0; key < last_end(block); key += kSquare) {
      // Rows before step `first` see none of the keys.
      const int64_t first = shape_.causal ? std::max<int64_t>(0, block.key + key - block.row) / kStep : 0;
      for (int64_t column = 0; column < pitch_; column += kSquare)
        square_of<Input, Made>(left.at(column / kSquare, first), right.at(key / kSquare, first), right.steps - first,
                               square_at(sums + column * kPitch + key, kPitch, true));
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
  float* left_words_;                      // grad_scores of 32 rows as a left factor
  float *grad_keys_, *grad_values_;        // [pitch, kPitch]: turned
  float *scores_, *grad_weights_;          // [kSquare, kPitch]
  float *block_log_sum_exp_, *product_;    // [kBlockRows]: of powers of two; of grads and the forward op's values
  float* sums_;                         // of grad_q
};

}  // namespace laptime::LAPTIME_ISA
