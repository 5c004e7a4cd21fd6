// Attention backward in register tiles: processes one block of keys at a time, against all blocks of rows that can
// attend to it.
#pragma once

#include <optional>

#include "ops/scaled_dot_product_attention/backward_cpu.h"
#include "ops/scaled_dot_product_attention/tiles/multiply_cpu.h"

namespace laptime::LAPTIME_ISA::attention::tiles {

// The number of query rows whose terms are summed before the sum is added to the gradients of the keys. The number
// affects the bits of these gradients, so it is the same for every instruction set: a common multiple of the tile
// heights, which are 6 rows with AVX2 and 13 with AVX-512.
constexpr int64_t kBlockRows = 78;
constexpr int64_t kBlockTileRows = ceil_div(kBlockRows, kTileRows) * kTileRows;

// The scratch of one thread: a block of keys with its gradients, and a block of rows with its weights.
struct BackwardScratch {
  float* keys;             // transposed: panels [width, kTileColumns]
  float* values;           // transposed: panels [width, kTileColumns]
  float* key_rows;         // multiplied by the scale: panels [kKeyBlock, kTileColumns]
  float* grad_keys;        // [kKeyRows, width in whole vectors]
  float* grad_values;      // [kKeyRows, width in whole vectors]
  float* queries;          // [kBlockTileRows, kPitch], times scale / ln 2
  float* grads;            // [kBlockTileRows, kPitch]: gradients of the forward op's values
  float* weights;          // [kBlockTileRows, kPitch]
  float* grad_scores;      // [kBlockTileRows, kPitch]
  float* log_sum_exp;      // [kBlockTileRows], scaled by log2(e)
  float* grad_dot_values;  // [kBlockTileRows]: grads . values of each row

  static constexpr int64_t kFloats = kKeyBlock * kMaxWidth * 3 + kKeyRows * kMaxWidth * 2 +
                                     kBlockTileRows * kPitch * 4 + ceil_div(kBlockTileRows * 2, 16) * 16;
  static constexpr int64_t kFloatsLeft = cpu::Team::kScratchBytes / 4 - kFloats;
  static_assert(kFloatsLeft >= 0);

  explicit BackwardScratch(std::byte* bytes) {
    keys = reinterpret_cast<float*>(bytes);
    values = keys + kKeyBlock * kMaxWidth;
    key_rows = values + kKeyBlock * kMaxWidth;
    grad_keys = key_rows + kKeyBlock * kMaxWidth;
    grad_values = grad_keys + kKeyRows * kMaxWidth;
    queries = grad_values + kKeyRows * kMaxWidth;
    grads = queries + kBlockTileRows * kPitch;
    weights = grads + kBlockTileRows * kPitch;
    grad_scores = weights + kBlockTileRows * kPitch;
    log_sum_exp = grad_scores + kBlockTileRows * kPitch;
    grad_dot_values = log_sum_exp + kBlockTileRows;
  }
  float* end() const { return keys + kFloats; }
};

// One part of one key head, for the query heads that read it. launch_backward runs it.
template <class Element>
class BackwardPart {
 public:
  static int64_t pitch(int64_t width) { return align_up(width, kLanes); }
  // The number of floats of a part's grad_q sums: [T + kTileRows, pitch].
  static int64_t sum_floats(int64_t positions, int64_t width) {
    return (Size(positions + kTileRows) * pitch(width)).value();
  }
  static bool sums_fit_scratch(const KeyParts& parts, int64_t width) {
    return parts.count == 1 && sum_floats(parts.positions, width) * parts.group <= BackwardScratch::kFloatsLeft;
  }
  static float sum_scale(const AttentionShape&) { return 1; }  // the packed keys are already scaled

  BackwardPart(const KernelCall& call, const AttentionShape& shape, int64_t kv_head, QuerySums sums, bool only_part,
               std::byte* scratch)
      : call_(call),
        shape_(shape),
        kv_head_(kv_head),
        pitch_(pitch(shape.width)),
        only_part_(only_part),
        scratch_(scratch),
        query_sums_{sums.first == nullptr ? scratch_.end() : sums.first, sums.stride} {}

  // Processes key blocks [first, end).
  void run(int64_t first, int64_t end, NextKeys next) {
    for (int64_t block = first; block < end; ++block)
      add_keys(block, block == first, block + 1 == end ? next : NextKeys{kv_head_, block + 1});
  }

 private:
  using Operands = BackwardHead<Element>;

  // Selects query head `member` of the group for the following functions.
  void select_query(int64_t member) {
    head_ = kv_head_ * shape_.group + member;
    sums_ = query_sums_.first + member * query_sums_.stride;
    operands_.emplace(call_, shape_, head_);
  }

  void add_keys(int64_t number, bool first, NextKeys next) {
    const int64_t key = number * kKeyBlock;
    const int64_t keys = std::min(kKeyBlock, shape_.positions - key);
    select_query(0);
    pack_panels_transposed<Element>(operands_->k.from(key), keys, shape_.width, scratch_.keys);
    pack_panels_transposed<Element>(operands_->v.from(key), keys, shape_.width, scratch_.values);
    pack_panels<Element>(operands_->k.from(key), keys, shape_.width, shape_.scale(), scratch_.key_rows);
    std::fill_n(scratch_.grad_keys, kKeyRows * pitch_, 0.0F);
    std::fill_n(scratch_.grad_values, kKeyRows * pitch_, 0.0F);
    const int64_t first_row = operands_->first_row(key);
    for (int64_t member = 0; member < shape_.group; ++member) {
      if (member > 0) select_query(member);
      for (int64_t row = first_row; row < shape_.positions; row += kBlockRows) {
        const ScoreBlock block{row, std::min(kBlockRows, shape_.positions - row), key, keys};
        load_rows(block);
        prefetch_result(0, row, block.rows);
        if (row + kBlockRows < shape_.positions)
          prefetch_rows(head_, row + kBlockRows);
        else if (member + 1 < shape_.group)
          prefetch_rows(head_ + 1, first_row);
        else
          prefetch_keys(next);
        if (row == first_row && member == 0) {
          prefetch_result(1, key, keys);
          prefetch_result(2, key, keys);
        }
        compute_weights(block);
        add_to_keys(block);
        first ? add_to_queries<true>(block) : add_to_queries<false>(block);
        if (only_part_) operands_->write_finished_rows(block, sums_, pitch_, 1);
      }
    }
    for (int64_t i = 0; i < keys; ++i) {
      // kLn2, because the packed queries are multiplied by scale / ln 2.
      write_row(scratch_.grad_keys + i * pitch_, shape_.width, kLn2, operands_->grad_k[key + i]);
      write_row(scratch_.grad_values + i * pitch_, shape_.width, 1, operands_->grad_v[key + i]);
    }
  }

  void prefetch(size_t input, int64_t head, int64_t first, int64_t rows) {
    prefetcher_.queue(head_rows<const Element>(call_.in[input], head), first, std::min(first + rows, shape_.positions),
                      shape_.width);
  }
  void prefetch_result(size_t output, int64_t first, int64_t rows) {
    prefetcher_.queue(head_rows<Element>(call_.out[output], output == 0 ? head_ : kv_head_), first, first + rows,
                      shape_.width);
  }
  // Prefetches rows of q, values and grad_values.
  void prefetch_rows(int64_t head, int64_t row) {
    for (const size_t input : {0U, 3U, 5U}) prefetch(input, head, row, kBlockRows);
  }
  // Prefetches a block of k and v, and the first rows that can attend to it.
  void prefetch_keys(NextKeys next) {
    prefetch(1, next.kv_head, next.block * kKeyBlock, kKeyBlock);
    prefetch(2, next.kv_head, next.block * kKeyBlock, kKeyBlock);
    prefetch_rows(next.kv_head * shape_.group, operands_->first_row(next.block * kKeyBlock));
  }

  void load_rows(const ScoreBlock& block) {
    pack_rows<Element>(operands_->q.from(block.row), block.rows, shape_.width, shape_.scale() * kLog2E,
                       scratch_.queries);
    pack_rows<Element>(operands_->grad_values.from(block.row), block.rows, shape_.width, 1, scratch_.grads);
    operands_->load_row_constants(block, align_up(block.rows, kTileRows), scratch_.grad_dot_values,
                                  scratch_.log_sum_exp);
  }

  // The number of keys of the block that any row of the tile starting at row `i` can attend to.
  int64_t keys_of_tile(const ScoreBlock& block, int64_t i) const {
    return operands_->keys_of_rows(block, i, kTileRows);
  }

  // Computes weights = 2^(scores - log_sum_exp) and grad_scores = weights (grads v^T - grad_dot_values), not yet
  // scaled.
  void compute_weights(const ScoreBlock& block) {
    for (int64_t row = 0; row < block.rows; row += kTileRows) {
      float* const weights = scratch_.weights + row * kPitch;
      float* const grad_scores = scratch_.grad_scores + row * kPitch;
      const int64_t vectors = ceil_div(keys_of_tile(block, row), kLanes);
      multiply_row<kPitch, 1, kTileColumns>(scratch_.queries + row * kPitch, scratch_.keys, shape_.width * kTileColumns,
                                            shape_.width, vectors, prefetcher_,
                                            each_vector([weights, log_sum_exp = scratch_.log_sum_exp + row](
                                                            int64_t i, int64_t column, const Vector& sum) {
                                              store(weights + i * kPitch + column, exp2(sum - log_sum_exp[i]));
                                            }));
      mask_later_keys(block, row, weights);
      if (shape_.drops) {
        compute_dropped_grad_scores(block, row, vectors);
      } else {
        multiply_row<kPitch, 1, kTileColumns>(
            scratch_.grads + row * kPitch, scratch_.values, shape_.width * kTileColumns, shape_.width, vectors,
            prefetcher_,
            each_vector([weights, grad_scores, grad_dot_values = scratch_.grad_dot_values + row](
                            int64_t i, int64_t column, const Vector& sum) {
              const Vector weight = load(weights + i * kPitch + column);
              store(grad_scores + i * kPitch + column, (sum - grad_dot_values[i]) * weight);
            }));
      }
      mask_later_keys(block, row, grad_scores);
    }
  }

  // Zeroes a vector of keys after the last key that each row can attend to. One vector is enough, because the last row
  // of a tile can attend to fewer than kLanes keys more than the first row.
  void mask_later_keys(const ScoreBlock& block, int64_t row, float* tile) const {
    if (!shape_.causal) return;
    for (int64_t i = 0; i < kTileRows && operands_->visible_keys(block, row + i) < block.keys; ++i)
      store(tile + i * kPitch + operands_->visible_keys(block, row + i), Vector{});
  }

  // Computes the grad_scores of a tile with dropout, and applies dropout to its weights.
  void compute_dropped_grad_scores(const ScoreBlock& block, int64_t row, int64_t vectors) {
    float* const grad_scores = scratch_.grad_scores + row * kPitch;
    multiply_row<kPitch, 1, kTileColumns>(scratch_.grads + row * kPitch, scratch_.values, shape_.width * kTileColumns,
                                          shape_.width, vectors, prefetcher_,
                                          each_vector([grad_scores](int64_t i, int64_t column, const Vector& sum) {
                                            store(grad_scores + i * kPitch + column, sum);
                                          }));
    for (int64_t i = 0; i < kTileRows && row + i < block.rows; ++i) {
      const int64_t keys = std::min(operands_->visible_keys(block, row + i), block.keys);
      alignas(64) std::array<float, kKeyBlock> factors;
      shape_.dropout_factors(head_, block.row + row + i, block.key, keys, factors.data());
      float* const weights = scratch_.weights + (row + i) * kPitch;
      const float grad_dot_values = scratch_.grad_dot_values[row + i];
      for (int64_t key = 0; key < keys; ++key) {
        const float factor = factors[static_cast<size_t>(key)];
        grad_scores[i * kPitch + key] = (grad_scores[i * kPitch + key] * factor - grad_dot_values) * weights[key];
        weights[key] *= factor;
      }
    }
  }

  // grad_v += weights^T grads, grad_k += grad_scores^T queries.
  void add_to_keys(const ScoreBlock& block) {
    const int64_t keys = keys_of_tile(block, block.rows - 1);
    for (int64_t key = 0; key < keys; key += kTileRows) {
      const int64_t first = shape_.causal ? std::max<int64_t>(0, block.key + key - block.row) : 0;
      if (first >= block.rows) break;
      const auto add = [&](const float* left, const float* right, float* sums) {
        multiply_row<1, kPitch, kPitch>(
            left + first * kPitch + key, right + first * kPitch, kTileColumns, block.rows - first, pitch_ / kLanes,
            prefetcher_, each_vector([sums, pitch = pitch_](int64_t i, int64_t column, const Vector& sum) {
              float* const at = sums + i * pitch + column;
              store(at, load(at) + sum);
            }));
      };
      add(scratch_.weights, scratch_.grads, scratch_.grad_values + key * pitch_);
      add(scratch_.grad_scores, scratch_.queries, scratch_.grad_keys + key * pitch_);
    }
  }

  // Adds the product of grad_scores and keys to grad_q or, for the part's first block of keys, sets it.
  template <bool kFirst>
  void add_to_queries(const ScoreBlock& block) {
    for (int64_t row = 0; row < block.rows; row += kTileRows) {
      multiply_row<kPitch, 1, kTileColumns>(scratch_.grad_scores + row * kPitch, scratch_.key_rows,
                                            kKeyBlock * kTileColumns, keys_of_tile(block, row), pitch_ / kLanes,
                                            prefetcher_,
                                            each_vector([sums = sums_ + (block.row + row) * pitch_, pitch = pitch_](
                                                            int64_t i, int64_t column, const Vector& sum) {
                                              float* const at = sums + i * pitch + column;
                                              store(at, kFirst ? sum : load(at) + sum);
                                            }));
    }
  }

  const KernelCall& call_;
  const AttentionShape& shape_;
  int64_t kv_head_, pitch_;
  bool only_part_;
  BackwardScratch scratch_;
  QuerySums query_sums_;
  int64_t head_ = 0;       // set by select_query, like sums_ and operands_
  float* sums_ = nullptr;  // grad_q of this part: [T + kTileRows, pitch_]
  std::optional<Operands> operands_;
  Prefetcher prefetcher_;
};

}  // namespace laptime::LAPTIME_ISA::attention::tiles
