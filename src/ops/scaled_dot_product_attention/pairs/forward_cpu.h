// Attention forward with products of packed bfloat16 pairs: groups of queries, blocks of keys, and an online softmax
// (Dao et al. 2022).
#pragma once

#include "ops/scaled_dot_product_attention/pairs/panels_cpu.h"
#include "ops/scaled_dot_product_attention/vector_math_cpu.h"

namespace laptime::LAPTIME_ISA::attention::pairs {

// The number of rows in a group. Each group packs all keys and values that it reads, so groups are large if there are
// many rows.
inline int64_t group_rows(const AttentionShape& shape) {
  constexpr int64_t kMany = 512;
  constexpr int64_t kFew = 256;
  return shape.heads * (shape.positions / kMany) >= 32 ? kMany : kFew;
}

template <class Element, class Unit>
class ForwardGroup {
 public:
  using Operand = typename FactorTerms<Element, Unit>::Operand;
  using Score = typename FactorTerms<Element, Unit>::Score;

  ForwardGroup(const KernelCall& call, const AttentionShape& shape, RowGroup group, std::byte* scratch)
      : call_(call),
        shape_(shape),
        head_(group.head),
        first_row_(group.first_row),
        rows_(std::min(group_rows(shape), shape.positions - first_row_)),
        padded_rows_(align_up(rows_, kMicroTile)),
        pitch_(align_up(shape.width, kMicroTile)),
        scale_(shape.scale() * kLog2E),
        k_(head_rows<const Element>(call.in[1], shape.kv_head(head_))),
        v_(head_rows<const Element>(call.in[2], shape.kv_head(head_))) {
    auto* const floats = reinterpret_cast<float*>(scratch);
    query_memory_ = floats;
    key_memory_ = query_memory_ + Panels<Operand>::floats(padded_rows_, shape.width);
    value_memory_ = key_memory_ + Panels<Operand>::floats(kKeyBlock, shape.width);
    weight_memory_ = value_memory_ + Panels<Operand>::floats(shape.width, kKeyBlock);
    scores_ = weight_memory_ + 2 * Panels<Score>::floats(kMicroTile, kKeyBlock);
    sums_ = scores_ + 2 * kMicroTile * kPitch;
    row_max_ = sums_ + padded_rows_ * pitch_;
    row_sum_ = row_max_ + padded_rows_;
  }

  void run() {
    Unit::begin();
    const auto q = head_rows<const Element>(call_.in[0], head_);
    queries_ = Panels<Operand>::pack_left(left_factor(q, first_row_, rows_, shape_.width), query_memory_);
    std::fill_n(row_max_, padded_rows_, -__builtin_inff());
    std::fill_n(row_sum_, padded_rows_, 0.0F);
    const int64_t end = shape_.causal ? first_row_ + rows_ : shape_.positions;
    for (int64_t key = 0; key < end; key += kKeyBlock) add_keys(key, std::min(kKeyBlock, end - key));
    write_output();
    Unit::end();
  }

 private:
  // A group of 32 rows, and the keys of a block that it can attend to.
  struct ScoreRows {
    int64_t row = 0;
    int64_t key = 0, keys = 0;
    int64_t first_visible = 0;  // keys visible to the first row; if causal, each following row sees one key more
    int64_t end = 0;            // columns visible to any row, rounded up to whole 32 x 32 tiles
  };

  // Processes one block of keys as a pipeline: while the scores of 32 rows are turned into weights, the scores of the
  // next 32 rows are computed, and the weights of the previous 32 rows are multiplied by the values.
  void add_keys(int64_t key, int64_t keys) {
    keys_ = Panels<Operand>::pack_right(right_factor_transposed(k_, key, keys, shape_.width), key_memory_);
    values_ = Panels<Operand>::pack_right(right_factor(v_, key, keys, shape_.width), value_memory_);
    const auto rows_at = [&](int64_t row) -> ScoreRows {
      const int64_t first_visible = shape_.causal ? first_row_ + row + 1 - key : keys;
      const int64_t end = align_up(std::min(keys, first_visible + kMicroTile - 1), kMicroTile);
      return {row, key, keys, first_visible, std::max<int64_t>(0, end)};
    };
    ScoreRows before;
    ScoreRows now = rows_at(0);
    while (now.end == 0) now = rows_at(now.row + kMicroTile);
    auto nothing = no_work();
    multiply_scores(now, nothing);
    while (now.row < rows_) {
      const ScoreRows next = now.row + kMicroTile < rows_ ? rows_at(now.row + kMicroTile) : ScoreRows{rows_};
      for (int64_t half = 0; half < kMicroTile; half += kLanes) update_row_max(now, half);
      Interleaved softmax(Softmax(*this, now), kMicroTile * now.end / kMicroTile,
                          std::max<int64_t>(1, score_slots(next) + value_slots(before)));
      multiply_scores(next, softmax);
      add_values(before, softmax);
      softmax.run_rest();
      before = now;
      now = next;
    }
    add_values(before, nothing);
  }

  // Groups of 32 rows alternate between two buffers.
  float* scores(const ScoreRows& rows) const { return scores_ + rows.row / kMicroTile % 2 * kMicroTile * kPitch; }
  float* weights(const ScoreRows& rows) const {
    return weight_memory_ + rows.row / kMicroTile % 2 * Panels<Score>::floats(kMicroTile, kKeyBlock);
  }

  // scores = q k^T, not yet scaled.
  template <class Work>
  void multiply_scores(const ScoreRows& rows, Interleaved<Work>& work) {
    for (int64_t column = 0; column < rows.end; column += kMicroTile)
      Unit::template multiply<Operand, Operand>(queries_.at(rows.row / kMicroTile), keys_.at(column / kMicroTile),
                                                queries_.steps, square_at(scores(rows) + column, kPitch, false), work);
  }
  int64_t score_slots(const ScoreRows& rows) const {
    return rows.end / kMicroTile * queries_.steps * kSlots<Operand, Operand>;
  }
  // Adds the product of weights and v to the sums or, for the first block of keys, sets them.
  template <class Work>
  void add_values(const ScoreRows& rows, Interleaved<Work>& work) {
    for (int64_t column = 0; rows.end > 0 && column < pitch_; column += kMicroTile)
      Unit::template multiply<Score, Operand>(weights(rows), values_.at(column / kMicroTile), steps_of(rows.end),
                                              square_at(sums_ + rows.row * pitch_ + column, pitch_, rows.key > 0),
                                              work);
  }
  int64_t value_slots(const ScoreRows& rows) const {
    return pitch_ / kMicroTile * steps_of(rows.end) * kSlots<Score, Operand>;
  }

  // Masks the scores of kLanes rows, and sets their row_max and the factor that rescales their running sums.
  void update_row_max(const ScoreRows& rows, int64_t half) {
    LaneRows lane_max;
    for (int64_t i = 0; i < kLanes; ++i) {
      float* const row = scores(rows) + (half + i) * kPitch;
      const int64_t visible_keys =
          std::clamp<int64_t>(shape_.causal ? rows.first_visible + half + i : rows.keys, 0, rows.keys);
      for (int64_t column = visible_keys / kLanes * kLanes; column < rows.end; column += kLanes)
        store(row + column, first_lanes(load(row + column), visible_keys - column, -__builtin_inff()));
      Vector max_lanes = load(row);
      for (int64_t column = kLanes; column < rows.end; column += kLanes) max_lanes = max(load(row + column), max_lanes);
      lane_max[static_cast<size_t>(i)] = max_lanes;
    }
    float* const running_max = row_max_ + rows.row + half;
    const Vector before = load(running_max);
    const Vector row_max = max(max_of_rows(lane_max) * scale_, before);
    store(running_max, row_max);
    store(rescaling_.data() + half, exp2(before - row_max));
  }

  // Turns the scores of 32 rows into packed weights 2^(score - row_max), for 32 columns of one row at a time.
  class Softmax {
   public:
    Softmax(ForwardGroup& group, const ScoreRows& rows)
        : group_(group), rows_(rows), scores_(group.scores(rows)), weights_(group.weights(rows)) {
      begin_row();
    }

    bool next() {
      Vector lower = exp2(load(scores_ + column_) * group_.scale_ - max_of_row_);
      Vector upper = exp2(load(scores_ + column_ + kLanes) * group_.scale_ - max_of_row_);
      sum_ += lower;
      sum_ += upper;
      if (drops_) {
        lower *= load(dropout_factors_.data() + column_);
        upper *= load(dropout_factors_.data() + column_ + kLanes);
      }
      float* const step = weights_ + column_ / kMicroTile * Panels<Score>::kStepFloats;
      Score::along_k(lower, upper, line_ % kTile, left_row(step, line_));
      column_ += kMicroTile;
      if (column_ < rows_.end) return true;
      end_row();
      if (++line_ == kMicroTile) return false;
      begin_row();
      return true;
    }

   private:
    void begin_row() {
      const int64_t row = rows_.row + line_;
      max_of_row_ = group_.row_max_[row];
      sum_ = Vector{};
      column_ = 0;
      drops_ = group_.shape_.drops && row < group_.rows_;
      if (drops_)
        group_.shape_.dropout_factors(group_.head_, group_.first_row_ + row, rows_.key, rows_.end,
                                      dropout_factors_.data());
    }
    // Rescales the running sums of the row, and updates row_sum after every kLanes rows.
    void end_row() {
      scores_ += kPitch;
      lane_sums_[static_cast<size_t>(line_ % kLanes)] = sum_;
      const float rescaling = group_.rescaling_[static_cast<size_t>(line_)];
      float* const sums = group_.sums_ + (rows_.row + line_) * group_.pitch_;
      for (int64_t column = 0; rows_.key > 0 && rescaling != 1 && column < group_.pitch_; column += kLanes)
        store(sums + column, load(sums + column) * rescaling);
      if (line_ % kLanes < kLanes - 1) return;
      const int64_t first = line_ + 1 - kLanes;
      float* const row_sum = group_.row_sum_ + rows_.row + first;
      store(row_sum, load(row_sum) * load(group_.rescaling_.data() + first) + sum_of_rows(lane_sums_));
    }

    ForwardGroup& group_;
    ScoreRows rows_;
    float* scores_;
    float* weights_;
    int64_t line_ = 0, column_ = 0;
    float max_of_row_ = 0;
    bool drops_ = false;
    Vector sum_;
    LaneRows lane_sums_;
    alignas(64) std::array<float, kKeyBlock> dropout_factors_;
  };

  void write_output() {
    const ForwardOutput<Element> output(call_, shape_, head_);
    for (int64_t row = 0; row < rows_; ++row)
      output.put(first_row_ + row, sums_ + row * pitch_, row_max_[row], row_sum_[row]);
  }

  const KernelCall& call_;
  const AttentionShape& shape_;
  int64_t head_, first_row_, rows_, padded_rows_;
  int64_t pitch_;  // distance between rows of the sums
  float scale_;    // scale of the scores, including log2(e)
  HeadRows<const Element> k_, v_;
  Panels<Operand> queries_, keys_, values_;
  float *query_memory_, *key_memory_, *value_memory_;
  float* weight_memory_;                                 // two buffers of 32 rows
  float* scores_;                                        // [2, kMicroTile, kPitch]
  float* sums_;                                          // [padded_rows_, pitch_]: weights times values so far
  float* row_max_;                                       // [padded_rows_]: running maximum of each row
  float* row_sum_;                                       // [padded_rows_]: running sum of 2^(score - row_max)
  alignas(64) std::array<float, kMicroTile> rescaling_;  // factors by which the current block rescales the running sums
                                                         // of 32 rows
};

}  // namespace laptime::LAPTIME_ISA::attention::pairs
