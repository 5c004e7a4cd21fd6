// Attention forward in register tiles: groups of queries, blocks of keys, and an online softmax (Dao et al. 2022).
#pragma once

#include "ops/scaled_dot_product_attention/tiles/multiply_cpu.h"
#include "ops/scaled_dot_product_attention/vector_math_cpu.h"

namespace laptime::LAPTIME_ISA::attention::tiles {

// The scratch of one thread: the packed keys and values of a block, the queries and sums of a group of rows, and the
// scores of a tile.
struct ForwardScratch {
  static constexpr int64_t kGroupRows = kKeyRows;
  static constexpr int64_t kGroupLanes = kGroupRows / kTileRows * kLanes;  // one vector for each row of tiles

  float* keys;       // panels [width, kTileColumns]
  float* values;     // panels [kKeyBlock, kTileColumns]
  float* queries;    // [kGroupRows, kPitch]
  float* sums;       // [kGroupRows, width in whole vectors]: weights times values so far
  float* scores;     // [kTileRows, kPitch]
  float* row_max;    // [kGroupLanes]: running maximum of each row, one vector per row of tiles
  float* row_sum;    // [kGroupLanes]: running sum of 2^(score - row_max) of each row
  float* rescaling;  // [kLanes]: factor by which the current block rescales the running sums of each row of a tile

  explicit ForwardScratch(std::byte* bytes) {
    constexpr int64_t kFloats =
        kKeyBlock * kMaxWidth * 2 + kGroupRows * (kPitch + kMaxWidth) + kTileRows * kPitch + kGroupLanes * 2 + kLanes;
    static_assert(kFloats * 4 <= cpu::Team::kScratchBytes);
    keys = reinterpret_cast<float*>(bytes);
    values = keys + kKeyBlock * kMaxWidth;
    queries = values + kKeyBlock * kMaxWidth;
    sums = queries + kGroupRows * kPitch;
    scores = sums + kGroupRows * kMaxWidth;
    row_max = scores + kTileRows * kPitch;
    row_sum = row_max + kGroupLanes;
    rescaling = row_sum + kGroupLanes;
  }
};

template <class Element>
class ForwardGroup {
 public:
  // `next` is the group that this thread will probably process next.
  ForwardGroup(const KernelCall& call, const AttentionShape& shape, RowGroup group, RowGroup next, std::byte* scratch)
      : call_(call),
        shape_(shape),
        head_(group.head),
        first_row_(group.first_row),
        rows_(std::min(ForwardScratch::kGroupRows, shape.positions - first_row_)),
        pitch_(align_up(shape.width, kLanes)),
        next_(next),
        scratch_(scratch) {}

  void run() {
    const auto q = head_rows<const Element>(call_.in[0], head_);
    const auto k = head_rows<const Element>(call_.in[1], shape_.kv_head(head_));
    const auto v = head_rows<const Element>(call_.in[2], shape_.kv_head(head_));
    pack_rows<Element>(q.from(first_row_), rows_, shape_.width, shape_.scale() * kLog2E, scratch_.queries);
    std::fill_n(scratch_.sums, align_up(rows_, kTileRows) * pitch_, 0.0F);
    std::fill_n(scratch_.row_max, ForwardScratch::kGroupLanes, -__builtin_inff());
    std::fill_n(scratch_.row_sum, ForwardScratch::kGroupLanes, 0.0F);
    const int64_t end = shape_.causal ? first_row_ + rows_ : shape_.positions;
    for (int64_t key = 0; key < end; key += kKeyBlock) {
      const int64_t keys = std::min(kKeyBlock, end - key);
      pack_panels_transposed<Element>(k.from(key), keys, shape_.width, scratch_.keys);
      pack_panels<Element>(v.from(key), keys, shape_.width, 1, scratch_.values);
      key + keys < end ? prefetch_keys(key + keys) : prefetch_next_group();
      for (int64_t row = 0; row < rows_; row += kTileRows) add_tile(row, key, keys);
    }
    write_output();
  }

 private:
  void prefetch(size_t input, int64_t head, int64_t first, int64_t rows) {
    prefetcher_.queue(head_rows<const Element>(call_.in[input], input == 0 ? head : shape_.kv_head(head)), first,
                      std::min(first + rows, shape_.positions), shape_.width);
  }
  void prefetch_keys(int64_t key) {
    prefetch(1, head_, key, kKeyBlock);
    prefetch(2, head_, key, kKeyBlock);
  }
  void prefetch_next_group() {
    prefetcher_.queue(head_rows<Element>(call_.out[0], head_), first_row_, first_row_ + rows_, shape_.width);
    prefetch(0, next_.head, next_.first_row, ForwardScratch::kGroupRows);
    prefetch(1, next_.head, 0, kKeyBlock);
    prefetch(2, next_.head, 0, kKeyBlock);
  }

  // Adds keys [key, key + keys) to the sums of the tile that starts at row `row` of the group.
  void add_tile(int64_t row, int64_t key, int64_t keys) {
    // The number of keys of the block visible to the first row of the tile. If causal, each following row sees one
    // key more.
    const int64_t first_visible = shape_.causal ? first_row_ + row + 1 - key : keys;
    const int64_t visible = shape_.causal ? std::min(keys, first_visible + kTileRows - 1) : keys;
    if (visible <= 0) return;
    const int64_t end = align_up(visible, kLanes);
    // Columns below `unmasked` are visible to all rows of the tile.
    const int64_t unmasked = std::clamp<int64_t>(first_visible, 0, keys) / kLanes * kLanes;
    LaneRows lane_max;
    for (Vector& row_lanes : lane_max) row_lanes = Vector{} - __builtin_inff();
    multiply_row<kPitch, 1, kTileColumns>(
        scratch_.queries + row * kPitch, scratch_.keys, shape_.width * kTileColumns, shape_.width, end / kLanes,
        prefetcher_,
        each_vector([scores = scratch_.scores, &lane_max, unmasked](int64_t i, int64_t column, const Vector& sum) {
          store(scores + i * kPitch + column, sum);
          Vector& row_lanes = lane_max[static_cast<size_t>(i)];
          if (column < unmasked) row_lanes = max(sum, row_lanes);
        }));
    for (int64_t i = 0; i < kTileRows; ++i) {
      float* const scores = scratch_.scores + i * kPitch;
      const int64_t visible_keys = std::min(shape_.causal ? first_visible + i : keys, keys);
      Vector& row_lanes = lane_max[static_cast<size_t>(i)];
      for (int64_t column = unmasked; column < end; column += kLanes) {
        const Vector score = first_lanes(load(scores + column), visible_keys - column, -__builtin_inff());
        store(scores + column, score);
        row_lanes = max(score, row_lanes);
      }
    }
    softmax_tile(row, end, lane_max);
    for (int64_t i = 0; shape_.drops && i < std::min<int64_t>(kTileRows, rows_ - row); ++i)
      drop_weights(first_row_ + row + i, key, visible, scratch_.scores + i * kPitch);
    multiply_row<kPitch, 1, kTileColumns>(
        scratch_.scores, scratch_.values, kKeyBlock * kTileColumns, visible, pitch_ / kLanes, prefetcher_,
        each_vector([sums = scratch_.sums + row * pitch_, pitch = pitch_, rescaling = scratch_.rescaling](
                        int64_t i, int64_t column, const Vector& sum) {
          float* const at = sums + i * pitch + column;
          store(at, multiply_add(rescaling[i], load(at), sum));
        }));
  }

  // Turns the scores of a tile, up to column `end`, into weights 2^(score - row_max), and updates row_max, row_sum and
  // rescaling. lane_max contains the maximum of each lane of each row.
  void softmax_tile(int64_t row, int64_t end, const LaneRows& lane_max) {
    float* const tile_max = scratch_.row_max + row / kTileRows * kLanes;
    const Vector before = load(tile_max);
    const Vector row_max = max(max_of_rows(lane_max), before);
    const Vector rescaling = exp2(before - row_max);
    store(tile_max, row_max);
    store(scratch_.rescaling, rescaling);
    LaneRows sums{};
    for (int64_t i = 0; i < kTileRows; ++i) {
      float* const scores = scratch_.scores + i * kPitch;
      const float max_of_row = tile_max[i];
      RowLanes lanes{};
      const auto add = [&](int64_t column, size_t v) {
        const Vector weight = exp2(load(scores + column) - max_of_row);
        store(scores + column, weight);
        lanes[v] += weight;
      };
      int64_t column = 0;
      for (; column + kRowLanes <= end; column += kRowLanes) {
#pragma GCC unroll 4
        for (size_t v = 0; v < kRowVectors; ++v) add(column + static_cast<int64_t>(v) * kLanes, v);
      }
      for (size_t v = 0; column < end; column += kLanes, ++v) add(column, v);
      sums[static_cast<size_t>(i)] = folded(lanes);
    }
    float* const tile_sum = scratch_.row_sum + row / kTileRows * kLanes;
    store(tile_sum, multiply_add(load(tile_sum), rescaling, sum_of_rows(sums)));
  }

  // Applies dropout to the weights of keys [key, key + keys) of one row.
  void drop_weights(int64_t row, int64_t key, int64_t keys, float* weights) const {
    alignas(64) std::array<float, kKeyBlock> factors;
    shape_.dropout_factors(head_, row, key, keys, factors.data());
    for (int64_t i = 0; i < keys; ++i) weights[i] *= factors[static_cast<size_t>(i)];
  }

  void write_output() {
    const ForwardOutput<Element> output(call_, shape_, head_);
    for (int64_t row = 0; row < rows_; ++row) {
      const int64_t lane = row / kTileRows * kLanes + row % kTileRows;
      output.put(first_row_ + row, scratch_.sums + row * pitch_, scratch_.row_max[lane], scratch_.row_sum[lane]);
    }
  }

  const KernelCall& call_;
  const AttentionShape& shape_;
  int64_t head_, first_row_, rows_, pitch_;
  RowGroup next_;
  ForwardScratch scratch_;
  Prefetcher prefetcher_;
};

// (q [B, h, T, d], k, v[, step]) -> (values [B, h, T, d], log_sum_exp [B, h, T, 1])
template <class Element>
void forward(const KernelCall& call) {
  const AttentionShape shape(call, kForwardStep);
  cpu::Team& team = cpu::team_of(call);
  const int64_t groups = ceil_div(shape.positions, ForwardScratch::kGroupRows);
  const int64_t items = groups * shape.heads;
  const auto group = [&](int64_t index) { return row_group(index, shape, ForwardScratch::kGroupRows); };
  const auto run_group = [&](int64_t index, int thread) {
    const RowGroup next = group(std::min(index + team.size(), items - 1));
    ForwardGroup<Element>(call, shape, group(index), next, team.scratch(thread)).run();
  };
  team.parallel_for(items, run_group, shape.work(2, groups));
}

}  // namespace laptime::LAPTIME_ISA::attention::tiles
