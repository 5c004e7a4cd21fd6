// Attention forward by tiles of queries and blocks of keys, the softmax made while the keys pass by (Dao et al. 2022).
#pragma once

#include "ops/scaled_dot_product_attention/attention_tiles_cpu.h"

namespace laptime::LAPTIME_ISA {

// What one thread holds: keys and values of a block, queries and sums of a group of rows, the scores of one tile.
struct ForwardScratch {
  static constexpr int64_t kGroupRows = kKeyRows;

  float* keys;     // slivers [width, kTileColumns]
  float* values;   // slivers [kKeyBlock, kTileColumns]
  float* queries;  // [kGroupRows, kPitch]
  float* sums;     // [kGroupRows, width in whole vectors]
  float* scores;   // [kTileRows, kPitch]
  float* largest;  // [kGroupRows]: of each row's scores so far
  float* total;    // [kGroupRows]: of the powers of two of its scores less the largest
  float* factor;   // [kTileRows]: what the last block lessened the row's former sums by

  explicit ForwardScratch(std::byte* bytes) {
    constexpr int64_t kFloats = kKeyBlock * kWidest * 2 + kGroupRows * (kPitch + kWidest + 2) + kTileRows * kPitch + 64;
    static_assert(kFloats * 4 <= cpu::Team::kScratchBytes);
    keys = reinterpret_cast<float*>(bytes);
    values = keys + kKeyBlock * kWidest;
    queries = values + kKeyBlock * kWidest;
    sums = queries + kGroupRows * kPitch;
    scores = sums + kGroupRows * kWidest;
    factor = scores + kTileRows * kPitch;
    largest = factor + 64;
    total = largest + kGroupRows;
  }
};

// Scores of the first `own` keys of a block into weights; zeros follow up to `end`.
inline void weigh_row(float* scores, int64_t own, int64_t end, float& largest, float& total, float& factor) {
  const int64_t whole = own / kLanes * kLanes;
  Vector best = Vector{} + largest;
  for (int64_t i = 0; i < whole; i += kLanes) best = larger(load(scores + i), best);
  if (own > whole) best = larger(first_lanes(load(scores + whole), own - whole, largest), best);
  best = largest_lane(best);
  const Vector lessened = exp2(largest - best);
  Vector sum{};
  for (int64_t i = 0; i < whole; i += kLanes) {
    const Vector weight = exp2(load(scores + i) - best);
    store(scores + i, weight);
    sum += weight;
  }
  if (own > whole) {
    const Vector weight = first_lanes(exp2(load(scores + whole) - best), own - whole, 0);
    store(scores + whole, weight);
    sum += weight;
  }
  for (int64_t i = rounded_up(own, kLanes); i < end; i += kLanes) store(scores + i, Vector{});
  factor = lessened[0];
  largest = best[0];
  total = total * factor + lane_sum(sum)[0];
}

// A group of rows of one head.
template <class Element>
class ForwardGroup {
 public:
  ForwardGroup(const KernelCall& call, const AttentionShape& shape, int64_t head, int64_t first_row, std::byte* scratch)
      : call_(call),
        shape_(shape),
        head_(head),
        first_row_(first_row),
        rows_(std::min(ForwardScratch::kGroupRows, shape.positions - first_row)),
        pitch_(rounded_up(shape.width, kLanes)),
        scratch_(scratch) {}

  // Never inlined: two copies could fuse other products into sums, and the last bit would tell one thread from two.
  [[gnu::noinline]] void run() {
    const auto q = head_rows<const Element>(call_.in[0], head_);
    const auto k = head_rows<const Element>(call_.in[1], head_);
    const auto v = head_rows<const Element>(call_.in[2], head_);
    // Scores in powers of two.
    pack_left<Element>({q[first_row_], q.stride}, rows_, shape_.width, shape_.scale() * kLog2E, scratch_.queries);
    std::fill_n(scratch_.sums, rounded_up(rows_, kTileRows) * pitch_, 0.0F);
    std::fill_n(scratch_.largest, rounded_up(rows_, kTileRows), -__builtin_inff());
    std::fill_n(scratch_.total, rounded_up(rows_, kTileRows), 0.0F);
    const int64_t end = shape_.causal ? first_row_ + rows_ : shape_.positions;
    for (int64_t key = 0; key < end; key += kKeyBlock) {
      const int64_t keys = std::min(kKeyBlock, end - key);
      pack_right_transposed<Element>({k[key], k.stride}, keys, shape_.width, scratch_.keys);
      pack_right<Element>({v[key], v.stride}, keys, shape_.width, 1, scratch_.values);
      for (int64_t row = 0; row < rows_; row += kTileRows) add_block(row, key, keys);
    }
    finish();
  }

 private:
  // The tile of rows from `row` of the group on and `keys` keys from `key` on.
  void add_block(int64_t row, int64_t key, int64_t keys) {
    // Keys of the block that the tile's first row sees; those after it see one more each.
    const int64_t own = shape_.causal ? first_row_ + row + 1 - key : keys;
    const int64_t seen = shape_.causal ? std::min(keys, own + kTileRows - 1) : keys;
    if (seen <= 0) return;
    multiply_row<kPitch, 1, kTileColumns>(scratch_.queries + row * kPitch, scratch_.keys, shape_.width * kTileColumns,
                                          shape_.width, (seen + kLanes - 1) / kLanes,
                                          [scores = scratch_.scores](int64_t i, int64_t column, const Vector& sum) {
                                            store(scores + i * kPitch + column, sum);
                                          });
    for (int64_t i = 0; i < kTileRows; ++i) {
      float* const scores = scratch_.scores + i * kPitch;
      const int64_t its = shape_.causal ? std::clamp<int64_t>(own + i, 0, keys) : keys;
      weigh_row(scores, its, seen, scratch_.largest[row + i], scratch_.total[row + i], scratch_.factor[i]);
      if (shape_.drops && row + i < rows_) drop(scores, first_row_ + row + i, key, its);
    }
    multiply_row<kPitch, 1, kTileColumns>(scratch_.scores, scratch_.values, kKeyBlock * kTileColumns, seen,
                                          pitch_ / kLanes,
                                          [sums = scratch_.sums + row * pitch_, pitch = pitch_,
                                           factor = scratch_.factor](int64_t i, int64_t column, const Vector& sum) {
                                            float* const at = sums + i * pitch + column;
                                            store(at, load(at) * factor[i] + sum);
                                          });
  }

  void drop(float* weights, int64_t row, int64_t key, int64_t keys) {
    alignas(64) std::array<float, kKeyBlock> kept;
    shape_.kept(head_, row, key, keys, kept.data());
    for (int64_t i = 0; i < keys; ++i) weights[i] *= kept[static_cast<size_t>(i)];
  }

  void finish() {
    const auto values = head_rows<Element>(call_.out[0], head_);
    // [B, h, T, 1] without gaps, or nobody reads it.
    float* const log_sum_exp = call_.out[1].data == nullptr ? nullptr : call_.out[1].as<float>();
    for (int64_t row = 0; row < rows_; ++row) {
      const float total = scratch_.total[row];
      write_row(scratch_.sums + row * pitch_, shape_.width, 1 / total, values[first_row_ + row]);
      if (log_sum_exp != nullptr)
        log_sum_exp[head_ * shape_.positions + first_row_ + row] = scratch_.largest[row] * kLn2 + log_f32(total);
    }
  }

  const KernelCall& call_;
  const AttentionShape& shape_;
  int64_t head_, first_row_, rows_, pitch_;
  ForwardScratch scratch_;
};

}  // namespace laptime::LAPTIME_ISA
