// Attention forward by tiles of queries and blocks of keys, the softmax made while the keys pass by (Dao et al. 2022).
#pragma once

#include "ops/scaled_dot_product_attention/tiles/tiles_cpu.h"

namespace laptime::LAPTIME_ISA {

// What one thread holds: keys and values of a block, queries and sums of a group of rows, the scores of one tile.
struct ForwardScratch {
  static constexpr int64_t kGroupRows = kKeyRows;
  static constexpr int64_t kGroupLanes = kGroupRows / kTileRows * kLanes;  // a vector for each tile

  float* keys;     // slivers [width, kTileColumns]
  float* values;   // slivers [kKeyBlock, kTileColumns]
  float* queries;  // [kGroupRows, kPitch]
  float* sums;     // [kGroupRows, width in whole vectors]
  float* scores;   // [kTileRows, kPitch]
  float* largest;  // [kGroupLanes]: of each row's scores so far, a vector for each tile
  float* total;    // [kGroupLanes]: of the powers of two of its scores less the largest
  float* factor;   // [kLanes]: what the last block lessened a row's former sums by

  explicit ForwardScratch(std::byte* bytes) {
    constexpr int64_t kFloats =
        kKeyBlock * kWidest * 2 + kGroupRows * (kPitch + kWidest) + kTileRows * kPitch + kGroupLanes * 2 + kLanes;
    static_assert(kFloats * 4 <= cpu::Team::kScratchBytes);
    keys = reinterpret_cast<float*>(bytes);
    values = keys + kKeyBlock * kWidest;
    queries = values + kKeyBlock * kWidest;
    sums = queries + kGroupRows * kPitch;
    scores = sums + kGroupRows * kWidest;
    largest = scores + kTileRows * kPitch;
    total = largest + kGroupLanes;
    factor = total + kGroupLanes;
  }
};

// A group of rows of one head; `next` is the one that may come after it.
struct RowGroup {
  int64_t head = 0, first_row = 0;
};

template <class Element>
class ForwardGroup {
 public:
  ForwardGroup(const KernelCall& call, const AttentionShape& shape, RowGroup group, RowGroup next, std::byte* scratch)
      : call_(call),
        shape_(shape),
        head_(group.head),
        first_row_(group.first_row),
        rows_(std::min(ForwardScratch::kGroupRows, shape.positions - first_row_)),
        pitch_(rounded_up(shape.width, kLanes)),
        next_(next),
        scratch_(scratch) {}

  // Never inlined: two copies could fuse other products into sums, and the last bit would tell one thread from two.
  [[gnu::noinline]] void run() {
    const auto q = head_rows<const Element>(call_.in[0], head_);
    const auto k = head_rows<const Element>(call_.in[1], head_);
    const auto v = head_rows<const Element>(call_.in[2], head_);
    // Scores in powers of two.
    pack_left<Element>({q[first_row_], q.stride}, rows_, shape_.width, shape_.scale() * kLog2E, scratch_.queries);
    std::fill_n(scratch_.sums, rounded_up(rows_, kTileRows) * pitch_, 0.0F);
    std::fill_n(scratch_.largest, ForwardScratch::kGroupLanes, -__builtin_inff());
    std::fill_n(scratch_.total, ForwardScratch::kGroupLanes, 0.0F);
    const int64_t end = shape_.causal ? first_row_ + rows_ : shape_.positions;
    for (int64_t key = 0; key < end; key += kKeyBlock) {
      const int64_t keys = std::min(kKeyBlock, end - key);
      pack_right_transposed<Element>({k[key], k.stride}, keys, shape_.width, scratch_.keys);
      pack_right<Element>({v[key], v.stride}, keys, shape_.width, 1, scratch_.values);
      key + keys < end ? expect_keys(key + keys) : expect_next();
      for (int64_t row = 0; row < rows_; row += kTileRows) add_block(row, key, keys);
    }
    finish();
  }

 private:
  void expect(size_t input, int64_t head, int64_t first, int64_t rows) {
    ahead_.expect(head_rows<const Element>(call_.in[input], head), first, std::min(first + rows, shape_.positions),
                  shape_.width);
  }
  void expect_keys(int64_t key) {
    expect(1, head_, key, kKeyBlock);
    expect(2, head_, key, kKeyBlock);
  }
  void expect_next() {
    ahead_.expect(head_rows<Element>(call_.out[0], head_), first_row_, first_row_ + rows_, shape_.width);
    expect(0, next_.head, next_.first_row, ForwardScratch::kGroupRows);
    expect(1, next_.head, 0, kKeyBlock);
    expect(2, next_.head, 0, kKeyBlock);
  }

  // The tile of rows from `row` of the group on and `keys` keys from `key` on.
  void add_block(int64_t row, int64_t key, int64_t keys) {
    // Keys of the block that the tile's first row sees; those after it see one more each.
    const int64_t own = shape_.causal ? first_row_ + row + 1 - key : keys;
    const int64_t seen = shape_.causal ? std::min(keys, own + kTileRows - 1) : keys;
    if (seen <= 0) return;
    const int64_t end = rounded_up(seen, kLanes);
    LaneRows best;
    for (Vector& row : best) row = Vector{} - __builtin_inff();
    // Columns below `clear` are seen by all rows.
    const int64_t clear = std::clamp<int64_t>(own, 0, keys) / kLanes * kLanes;
    multiply_row<kPitch, 1, kTileColumns>(
        scratch_.queries + row * kPitch, scratch_.keys, shape_.width * kTileColumns, shape_.width, end / kLanes, ahead_,
        each_vector([scores = scratch_.scores, &best, clear](int64_t i, int64_t column, const Vector& sum) {
          store(scores + i * kPitch + column, sum);
          Vector& largest = best[static_cast<size_t>(i)];
          if (column < clear) largest = larger(sum, largest);
        }));
    for (int64_t i = 0; i < kTileRows; ++i) {
      float* const scores = scratch_.scores + i * kPitch;
      const int64_t its = std::min(shape_.causal ? own + i : keys, keys);
      Vector& largest = best[static_cast<size_t>(i)];
      for (int64_t column = clear; column < end; column += kLanes) {
        const Vector score = first_lanes(load(scores + column), its - column, -__builtin_inff());
        store(scores + column, score);
        largest = larger(score, largest);
      }
    }
    weigh(row, end, best);
    for (int64_t i = 0; shape_.drops && i < std::min<int64_t>(kTileRows, rows_ - row); ++i)
      drop_weights(shape_, head_, first_row_ + row + i, key, seen, scratch_.scores + i * kPitch);
    multiply_row<kPitch, 1, kTileColumns>(
        scratch_.scores, scratch_.values, kKeyBlock * kTileColumns, seen, pitch_ / kLanes, ahead_,
        each_vector([sums = scratch_.sums + row * pitch_, pitch = pitch_, factor = scratch_.factor](
                        int64_t i, int64_t column, const Vector& sum) {
          float* const at = sums + i * pitch + column;
          store(at, load(at) * factor[i] + sum);
        }));
  }

  // Scores of a tile up to column `end` into weights; `best` is the largest of each lane of each row.
  void weigh(int64_t row, int64_t end, const LaneRows& best) {
    float* const state = scratch_.largest + row / kTileRows * kLanes;
    const Vector before = load(state);
    const Vector largest = larger(largest_of_rows(best), before);
    const Vector factor = exp2(before - largest);
    store(state, largest);
    store(scratch_.factor, factor);
    LaneRows sums{};
    for (int64_t i = 0; i < kTileRows; ++i) {
      float* const scores = scratch_.scores + i * kPitch;
      const float its = state[i];
      Vector sum{};
      for (int64_t column = 0; column < end; column += kLanes) {
        const Vector weight = exp2(load(scores + column) - its);
        store(scores + column, weight);
        sum += weight;
      }
      sums[static_cast<size_t>(i)] = sum;
    }
    float* const total = scratch_.total + row / kTileRows * kLanes;
    store(total, load(total) * factor + sum_of_rows(sums));
  }

  void finish() {
    const auto values = head_rows<Element>(call_.out[0], head_);
    // [B, h, T, 1] without gaps, or nobody reads it.
    float* const log_sum_exp = call_.out[1].data == nullptr ? nullptr : call_.out[1].as<float>();
    for (int64_t row = 0; row < rows_; ++row) {
      const int64_t place = row / kTileRows * kLanes + row % kTileRows;
      const float total = scratch_.total[place];
      write_row(scratch_.sums + row * pitch_, shape_.width, 1 / total, values[first_row_ + row]);
      if (log_sum_exp != nullptr)
        log_sum_exp[head_ * shape_.positions + first_row_ + row] = scratch_.largest[place] * kLn2 + log_f32(total);
    }
  }

  const KernelCall& call_;
  const AttentionShape& shape_;
  int64_t head_, first_row_, rows_, pitch_;
  RowGroup next_;
  ForwardScratch scratch_;
  Ahead ahead_;
};

}  // namespace laptime::LAPTIME_ISA
