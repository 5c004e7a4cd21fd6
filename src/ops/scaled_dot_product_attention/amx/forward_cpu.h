// Attention forward by tiles of AMX: groups of queries, blocks of keys, the softmax made while the keys pass by (Dao et
// al. 2022).
#pragma once

#include "ops/scaled_dot_product_attention/amx/blocks_cpu.h"

namespace laptime::LAPTIME_ISA {

// Rows of a group: many where there are enough groups, since each packs the keys and values that it meets.
inline int64_t group_rows(const AttentionShape& shape) {
  constexpr int64_t kMany = 512;
  constexpr int64_t kFew = 256;
  return shape.heads * (shape.positions / kMany) >= 32 ? kMany : kFew;
}

template <class Element>
class AmxForwardGroup {
 public:
  using Input = typename AmxTerms<Element>::Input;
  using Made = typename AmxTerms<Element>::Made;

  AmxForwardGroup(const KernelCall& call, const AttentionShape& shape, int64_t head, int64_t first_row,
                  std::byte* scratch)
      : call_(call),
        shape_(shape),
        head_(head),
        first_row_(first_row),
        rows_(std::min(group_rows(shape), shape.positions - first_row)),
        whole_rows_(align_up(rows_, kSquare)),
        pitch_(align_up(shape.width, kSquare)),
        scale_(shape.scale() * kLog2E),
        k_(head_rows<const Element>(call.in[1], head)),
        v_(head_rows<const Element>(call.in[2], head)) {
    auto* const floats = reinterpret_cast<float*>(scratch);
    query_words_ = floats;
    key_words_ = query_words_ + Panels<Input>::floats(whole_rows_, shape.width);
    value_words_ = key_words_ + Panels<Input>::floats(kKeyBlock, shape.width);
    weight_words_ = value_words_ + Panels<Input>::floats(shape.width, kKeyBlock);
    scores_ = weight_words_ + 2 * Panels<Made>::floats(kSquare, kKeyBlock);
    sums_ = scores_ + 2 * kSquare * kPitch;
    largest_ = sums_ + whole_rows_ * pitch_;
    total_ = largest_ + whole_rows_;
  }

  void run() {
    queries_ = Panels<Input>::of_rows(
        block_of(head_rows<const Element>(call_.in[0], head_), first_row_, rows_, shape_.width), query_words_);
    std::fill_n(largest_, whole_rows_, -__builtin_inff());
    std::fill_n(total_, whole_rows_, 0.0F);
    const int64_t end = shape_.causal ? first_row_ + rows_ : shape_.positions;
    for (int64_t key = 0; key < end; key += kKeyBlock) add_keys(key, std::min(kKeyBlock, end - key));
    finish();
  }

 private:
  // While scores become weights, the next rows' are multiplied, and the last rows' values.
  void add_keys(int64_t key, int64_t keys) {
    keys_ = Panels<Input>::of_columns(columns_of(k_, key, keys, shape_.width), key_words_);
    values_ = Panels<Input>::of_columns(depth_of(v_, key, keys, shape_.width), value_words_);
    const auto block_at = [&](int64_t row) -> Block {
      const int64_t own = shape_.causal ? first_row_ + row + 1 - key : keys;
      return {row, key, keys, own, std::max<int64_t>(0, align_up(std::min(keys, own + kSquare - 1), kSquare))};
    };
    Block before;
    Block now = block_at(0);
    while (now.end == 0) now = block_at(now.row + kSquare);
    auto nothing = nothing_aside();
    multiply_scores(now, nothing);
    while (now.row < rows_) {
      const Block next = now.row + kSquare < rows_ ? block_at(now.row + kSquare) : Block{rows_};
      for (int64_t half = 0; half < kSquare; half += kLanes) find_largest(now, half);
      Aside weighing(Weighing(*this, now), kSquare * now.end / kSquare,
                     std::max<int64_t>(1, score_times(next) + value_times(before)));
      multiply_scores(next, weighing);
      add_values(before, weighing);
      weighing.rest();
      before = now;
      now = next;
    }
    add_values(before, nothing);
  }

  // 32 rows of the group, and the keys of a block that they see.
  struct Block {
    int64_t row = 0;
    int64_t key = 0, keys = 0;
    int64_t own = 0;  // keys that the first row sees; those after it see one more each, if causal
    int64_t end = 0;  // of the columns in whole squares
  };
  // Of one of two neighbours.
  float* scores(const Block& block) const { return scores_ + block.row / kSquare % 2 * kSquare * kPitch; }
  float* weights(const Block& block) const {
    return weight_words_ + block.row / kSquare % 2 * Panels<Made>::floats(kSquare, kKeyBlock);
  }

  int64_t score_times(const Block& block) const { return block.end / kSquare * queries_.steps * kTimes<Input, Input>; }
  int64_t value_times(const Block& block) const { return pitch_ / kSquare * steps_of(block.end) * kTimes<Made, Input>; }
  template <class Work>
  void multiply_scores(const Block& block, Aside<Work>& aside) {
    for (int64_t column = 0; column < block.end; column += kSquare)
      square_of<Input, Input>(queries_.at(block.row / kSquare), keys_.at(column / kSquare), queries_.steps,
                              square_at(scores(block) + column, kPitch, false), aside);
  }
  template <class Work>
  void add_values(const Block& block, Aside<Work>& aside) {
    for (int64_t column = 0; block.end > 0 && column < pitch_; column += kSquare)
      square_of<Made, Input>(weights(block), values_.at(column / kSquare), steps_of(block.end),
                             square_at(sums_ + block.row * pitch_ + column, pitch_, block.key > 0), aside);
  }

  // Of kLanes rows, and by how much it lessens what they have summed before.
  void find_largest(const Block& block, int64_t half) {
    LaneRows best;
    for (int64_t i = 0; i < kLanes; ++i) {
      float* const its = scores(block) + (half + i) * kPitch;
      const int64_t seen = std::clamp<int64_t>(shape_.causal ? block.own + half + i : block.keys, 0, block.keys);
      for (int64_t column = seen / kLanes * kLanes; column < block.end; column += kLanes)
        store(its + column, first_lanes(load(its + column), seen - column, -__builtin_inff()));
      Vector largest = load(its);
      for (int64_t column = kLanes; column < block.end; column += kLanes) largest = larger(load(its + column), largest);
      best[static_cast<size_t>(i)] = largest;
    }
    float* const state = largest_ + block.row + half;
    const Vector before = load(state);
    const Vector largest = larger(largest_of_rows(best) * scale_, before);
    store(state, largest);
    store(factor_.data() + half, exp2(before - largest));
  }

  // Scores of a block into packed weights, 32 of a row at a time.
  class Weighing {
   public:
    Weighing(AmxForwardGroup& group, const Block& block)
        : group_(group), block_(block), scores_(group.scores(block)), words_(group.weights(block)) {
      begin_row();
    }

    bool unit() {
      Vector lower = exp2(load(scores_ + column_) * group_.scale_ - largest_);
      Vector upper = exp2(load(scores_ + column_ + kLanes) * group_.scale_ - largest_);
      sum_ += lower;
      sum_ += upper;
      if (drops_) {
        lower *= load(kept_.data() + column_);
        upper *= load(kept_.data() + column_ + kLanes);
      }
      Made::along(lower, upper, line_ % kTile, to_left(words_ + column_ / kSquare * Panels<Made>::kStepFloats, line_));
      column_ += kSquare;
      if (column_ < block_.end) return true;
      end_row();
      if (++line_ == kSquare) return false;
      begin_row();
      return true;
    }

   private:
    void begin_row() {
      const int64_t row = block_.row + line_;
      largest_ = group_.largest_[row];
      sum_ = Vector{};
      column_ = 0;
      drops_ = group_.shape_.drops && row < group_.rows_;
      if (drops_) group_.shape_.kept(group_.head_, group_.first_row_ + row, block_.key, block_.end, kept_.data());
    }
    // What the row has summed before is lessened.
    void end_row() {
      scores_ += kPitch;
      sums_[static_cast<size_t>(line_ % kLanes)] = sum_;
      const float factor = group_.factor_[static_cast<size_t>(line_)];
      float* const values = group_.sums_ + (block_.row + line_) * group_.pitch_;
      for (int64_t column = 0; block_.key > 0 && factor != 1 && column < group_.pitch_; column += kLanes)
        store(values + column, load(values + column) * factor);
      if (line_ % kLanes < kLanes - 1) return;
      const int64_t first = line_ + 1 - kLanes;
      float* const total = group_.total_ + block_.row + first;
      store(total, load(total) * load(group_.factor_.data() + first) + sum_of_rows(sums_));
    }

    AmxForwardGroup& group_;
    Block block_;
    float* scores_;
    float* words_;
    int64_t line_ = 0, column_ = 0;
    float largest_ = 0;
    bool drops_ = false;
    Vector sum_;
    LaneRows sums_;
    alignas(64) std::array<float, kKeyBlock> kept_;
  };

  void finish() {
    const auto values = head_rows<Element>(call_.out[0], head_);
    // [B, h, T, 1] without gaps, or nobody reads it.
    float* const log_sum_exp = call_.out[1].data == nullptr ? nullptr : call_.out[1].as<float>();
    for (int64_t row = 0; row < rows_; ++row) {
      write_row(sums_ + row * pitch_, shape_.width, 1 / total_[row], values[first_row_ + row]);
      if (log_sum_exp != nullptr)
        log_sum_exp[head_ * shape_.positions + first_row_ + row] = largest_[row] * kLn2 + log_f32(total_[row]);
    }
  }

  const KernelCall& call_;
  const AttentionShape& shape_;
  int64_t head_, first_row_, rows_, whole_rows_;
  int64_t pitch_;  // of the sums
  float scale_;    // of the scores, in powers of two
  HeadRows<const Element> k_, v_;
  Panels<Input> queries_, keys_, values_;
  float *query_words_, *key_words_, *value_words_;
  float* weight_words_;                            // of 32 rows, twice
  float* scores_;                                  // [2, kSquare, kPitch]
  float* sums_;                                    // [rows, pitch]
  float* largest_;                                 // [rows]: of each row's scores so far, in powers of two
  float* total_;                                   // [rows]: of the powers of two of its scores less the largest
  alignas(64) std::array<float, kSquare> factor_;  // what a block lessens its rows' former sums by
};

}  // namespace laptime::LAPTIME_ISA
