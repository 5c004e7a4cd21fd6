// Attention forward by tiles of AMX: groups of queries, blocks of keys, the softmax made while the keys pass by (Dao et
// al. 2022).
#pragma once

#include "ops/scaled_dot_product_attention/attention_amx_blocks.h"

namespace laptime::LAPTIME_ISA {

constexpr int64_t kGroupRows = 256;

template <class Element>
class AmxForwardGroup {
 public:
  using Input = typename AmxTerms<Element>::Input;
  using Made = typename AmxTerms<Element>::Made;

  // Bytes of scratch.
  static int64_t bytes(int64_t width) {
    const int64_t floats = Panels<Input>::floats(kGroupRows, width) + Panels<Input>::floats(kKeyBlock, width) +
                           Panels<Input>::floats(width, kKeyBlock) + Panels<Made>::floats(kSquare, kKeyBlock) +
                           kSquare * kPitch + kGroupRows * (align_up(width, kSquare) + 2);
    return floats * int64_t{sizeof(float)};
  }

  AmxForwardGroup(const KernelCall& call, const AttentionShape& shape, int64_t head, int64_t first_row,
                  std::byte* scratch)
      : call_(call),
        shape_(shape),
        head_(head),
        first_row_(first_row),
        rows_(std::min(kGroupRows, shape.positions - first_row)),
        pitch_(align_up(shape.width, kSquare)),
        scale_(shape.scale() * kLog2E),
        k_(head_rows<const Element>(call.in[1], head)),
        v_(head_rows<const Element>(call.in[2], head)) {
    auto* const floats = reinterpret_cast<float*>(scratch);
    query_words_ = floats;
    key_words_ = query_words_ + Panels<Input>::floats(kGroupRows, shape.width);
    value_words_ = key_words_ + Panels<Input>::floats(kKeyBlock, shape.width);
    weight_words_ = value_words_ + Panels<Input>::floats(shape.width, kKeyBlock);
    scores_ = weight_words_ + Panels<Made>::floats(kSquare, kKeyBlock);
    sums_ = scores_ + kSquare * kPitch;
    largest_ = sums_ + kGroupRows * pitch_;
    total_ = largest_ + kGroupRows;
  }

  void run() {
    queries_ = Panels<Input>::of_rows(block_of(head_rows<const Element>(call_.in[0], head_), first_row_, rows_, shape_.width), query_words_);
    std::fill_n(largest_, kGroupRows, -__builtin_inff());
    std::fill_n(total_, kGroupRows, 0.0F);
    const int64_t end = shape_.causal ? first_row_ + rows_ : shape_.positions;
    for (int64_t key = 0; key < end; key += kKeyBlock) add_keys(key, std::min(kKeyBlock, end - key));
    finish();
  }

 private:
  void add_keys(int64_t key, int64_t keys) {
    keys_ = Panels<Input>::of_columns(columns_of(k_, key, keys, shape_.width), key_words_);
    values_ = Panels<Input>::of_columns(depth_of(v_, key, keys, shape_.width), value_words_);
    for (int64_t row = 0; row < rows_; row += kSquare) {
      const int64_t own = shape_.causal ? first_row_ + row + 1 - key : keys;
      const int64_t seen = std::min(keys, own + kSquare - 1);
      if (seen > 0) add_block({row, key, keys, own, align_up(seen, kSquare)});
    }
  }

  // 32 rows of the group, and the keys of a block that they see.
  struct Block {
    int64_t row = 0;
    int64_t key = 0, keys = 0;
    int64_t own = 0;  // keys that the first row sees; those after it see one more each, if causal
    int64_t end = 0;  // of the columns in whole squares
  };

  void add_block(const Block& block) {
    for (int64_t column = 0; column < block.end; column += kSquare)
      square_of<Input, Input>(queries_.at(block.row / kSquare), keys_.at(column / kSquare), queries_.steps,
                              square_at(scores_ + column, kPitch, false));
    for (int64_t half = 0; half < kSquare; half += kLanes) {
      find_largest(block, half);
      weigh(block, half);
    }
    const Panels<Made> weights{weight_words_, steps_of(block.end)};
    for (int64_t column = 0; column < pitch_; column += kSquare)
      square_of<Made, Input>(weights.at(0), values_.at(column / kSquare), weights.steps,
                             square_at(sums_ + block.row * pitch_ + column, pitch_, block.key > 0));
  }

  // Of kLanes rows, and by how much it lessens what they have summed before.
  void find_largest(const Block& block, int64_t half) {
    LaneRows best;
    for (int64_t i = 0; i < kLanes; ++i) {
      float* const its = scores_ + (half + i) * kPitch;
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
    store(factor_.data(), exp2(before - largest));
  }

  // Scores of kLanes rows into weights, packed at once.
  void weigh(const Block& block, int64_t half) {
    LaneRows sums{};
    alignas(64) std::array<float, kKeyBlock> kept;
    for (int64_t i = 0; i < kLanes; ++i) {
      const int64_t row = block.row + half + i;
      const float* const its = scores_ + (half + i) * kPitch;
      const float largest = largest_[row];
      const bool drops = shape_.drops && row < rows_;
      if (drops) shape_.kept(head_, first_row_ + row, block.key, block.end, kept.data());
      Vector sum{};
      for (int64_t column = 0; column < block.end; column += kSquare) {
        Vector lower = exp2(load(its + column) * scale_ - largest);
        Vector upper = exp2(load(its + column + kLanes) * scale_ - largest);
        sum += lower;
        sum += upper;
        if (drops) {
          lower *= load(kept.data() + column);
          upper *= load(kept.data() + column + kLanes);
        }
        Made::along(lower, upper, i, to_left(weight_words_ + column / kSquare * Panels<Made>::kStepFloats, half));
      }
      sums[static_cast<size_t>(i)] = sum;
      const float factor = factor_[static_cast<size_t>(i)];
      if (block.key == 0 || factor == 1) continue;
      float* const values = sums_ + row * pitch_;
      for (int64_t column = 0; column < pitch_; column += kLanes) store(values + column, load(values + column) * factor);
    }
    float* const total = total_ + block.row + half;
    store(total, load(total) * load(factor_.data()) + sum_of_rows(sums));
  }

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
  int64_t head_, first_row_, rows_;
  int64_t pitch_;  // of the sums
  float scale_;    // of the scores, in powers of two
  HeadRows<const Element> k_, v_;
  Panels<Input> queries_, keys_, values_;
  float *query_words_, *key_words_, *value_words_;
  float* weight_words_;  // of 32 rows
  float* scores_;        // [kSquare, kPitch]
  float* sums_;     // [kGroupRows, pitch]
  float* largest_;  // [kGroupRows]: of each row's scores so far, in powers of two
  float* total_;    // [kGroupRows]: of the powers of two of its scores less the largest
  alignas(64) std::array<float, kLanes> factor_;  // what the last block lessened a row's former sums by
};

}  // namespace laptime::LAPTIME_ISA
