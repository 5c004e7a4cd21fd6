// Attention backward by blocks of keys: the weights are made again from the log-sum-exp, block by block (Dao et al.
// 2022).
#pragma once

#include "ops/scaled_dot_product_attention/tiles/tiles_cpu.h"

namespace laptime::LAPTIME_ISA {

constexpr int64_t kBlockRows = int64_t{kTileRows} * (64 / kTileRows + (64 % kTileRows == 0 ? 0 : 1));  // about 64

// A part's sums of grad_q: [T and a tile, width in whole vectors] floats.
inline int64_t part_floats(int64_t positions, int64_t width) {
  return (Size(positions + kTileRows) * rounded_up(width, kLanes)).value();
}

// What one thread holds: a block of keys, its gradients, and the weights of a block of rows.
struct BackwardScratch {
  float* keys;         // transposed: slivers [width, kTileColumns]
  float* values;       // the same
  float* key_rows;     // times the scale: slivers [kKeyBlock, kTileColumns]
  float* grad_keys;    // [kKeyRows, width in whole vectors]
  float* grad_values;  // the same
  float* queries;      // [kBlockRows, kPitch], times scale / ln 2
  float* grads;        // [kBlockRows, kPitch]
  float* weights;      // [kBlockRows, kPitch]
  float* grad_scores;  // [kBlockRows, kPitch]
  float* log_sum_exp;  // [kBlockRows], of powers of two
  float* product;      // [kBlockRows]: of grads and the forward op's values, row by row

  static constexpr int64_t kFloats =
      kKeyBlock * kWidest * 3 + kKeyRows * kWidest * 2 + kBlockRows * kPitch * 4 + rounded_up(kBlockRows * 2, 16);
  static constexpr int64_t kLeft = cpu::Team::kScratchBytes / 4 - kFloats;  // floats after them
  static_assert(kLeft >= 0);

  explicit BackwardScratch(std::byte* bytes) {
    keys = reinterpret_cast<float*>(bytes);
    values = keys + kKeyBlock * kWidest;
    key_rows = values + kKeyBlock * kWidest;
    grad_keys = key_rows + kKeyBlock * kWidest;
    grad_values = grad_keys + kKeyRows * kWidest;
    queries = grad_values + kKeyRows * kWidest;
    grads = queries + kBlockRows * kPitch;
    weights = grads + kBlockRows * kPitch;
    grad_scores = weights + kBlockRows * kPitch;
    log_sum_exp = grad_scores + kBlockRows * kPitch;
    product = log_sum_exp + kBlockRows;
  }
  float* end() const { return keys + kFloats; }
};

// Whether a head's sums of grad_q find room behind the scratch.
inline bool sums_in_scratch(const KeyParts& parts, int64_t floats) {
  return parts.count == 1 && floats <= BackwardScratch::kLeft;
}

// The first block of keys of a part of a head.
struct KeyPart {
  int64_t head = 0, block = 0;
};

// One part of the keys of one head; the sums of grad_q go to `sums`, and from there to grad_q if there is no other
// part.
template <class Element>
class BackwardPart {
 public:
  BackwardPart(const KernelCall& call, const AttentionShape& shape, int64_t head, float* sums, bool only,
               const BackwardScratch& scratch)
      : call_(call),
        shape_(shape),
        head_(head),
        pitch_(rounded_up(shape.width, kLanes)),
        sums_(sums),
        only_(only),
        scratch_(scratch),
        q_(head_rows<const Element>(call.in[0], head)),
        k_(head_rows<const Element>(call.in[1], head)),
        v_(head_rows<const Element>(call.in[2], head)),
        values_(head_rows<const Element>(call.in[3], head)),
        grads_(head_rows<const Element>(call.in[5], head)),
        log_sum_exp_(head_rows<const float>(call.in[4], head)) {}

  // Blocks [first, last) of keys; `next` may come after them. Never inlined: two copies could fuse other products into
  // sums, and the last bit would tell one thread from two.
  [[gnu::noinline]] void run(int64_t first, int64_t last, KeyPart next) {
    for (int64_t block = first; block < last; ++block)
      add_keys(block, block == first, block + 1 == last ? next : KeyPart{head_, block + 1});
  }

 private:
  void add_keys(int64_t number, bool first, KeyPart next) {
    const int64_t key = number * kKeyBlock;
    const int64_t keys = std::min(kKeyBlock, shape_.positions - key);
    pack_right_transposed<Element>({k_[key], k_.stride}, keys, shape_.width, scratch_.keys);
    pack_right_transposed<Element>({v_[key], v_.stride}, keys, shape_.width, scratch_.values);
    pack_right<Element>({k_[key], k_.stride}, keys, shape_.width, shape_.scale(), scratch_.key_rows);
    std::fill_n(scratch_.grad_keys, kKeyRows * pitch_, 0.0F);
    std::fill_n(scratch_.grad_values, kKeyRows * pitch_, 0.0F);
    const int64_t first_row = shape_.causal ? key : 0;
    for (int64_t row = first_row; row < shape_.positions; row += kBlockRows) {
      const Block block{row, std::min(kBlockRows, shape_.positions - row), key, keys};
      pack_rows(block);
      expect_result(0, row, block.rows);
      row + kBlockRows < shape_.positions ? expect_rows(head_, row + kBlockRows) : expect_keys(next);
      if (row == first_row) {
        expect_result(1, key, keys);
        expect_result(2, key, keys);
      }
      make_weights(block);
      add_to_keys(block);
      first ? add_to_queries<true>(block) : add_to_queries<false>(block);
      finish_queries(block);
    }
    const auto grad_k = head_rows<Element>(call_.out[1], head_);
    const auto grad_v = head_rows<Element>(call_.out[2], head_);
    for (int64_t i = 0; i < keys; ++i) {
      write_row(scratch_.grad_keys + i * pitch_, shape_.width, kLn2, grad_k[key + i]);  // the queries are scaled
      write_row(scratch_.grad_values + i * pitch_, shape_.width, 1, grad_v[key + i]);
    }
  }

  // What is wanted next: rows of the head that meet the same keys, or other keys and the first rows that meet them.
  void expect(size_t input, int64_t head, int64_t first, int64_t rows) {
    ahead_.expect(head_rows<const Element>(call_.in[input], head), first, std::min(first + rows, shape_.positions),
                  shape_.width);
  }
  void expect_result(size_t output, int64_t first, int64_t rows) {
    ahead_.expect(head_rows<Element>(call_.out[output], head_), first, first + rows, shape_.width);
  }
  void expect_rows(int64_t head, int64_t row) {
    for (const size_t input : {0U, 3U, 5U}) expect(input, head, row, kBlockRows);
  }
  void expect_keys(KeyPart part) {
    expect(1, part.head, part.block * kKeyBlock, kKeyBlock);
    expect(2, part.head, part.block * kKeyBlock, kKeyBlock);
    expect_rows(part.head, shape_.causal ? part.block * kKeyBlock : 0);
  }

  struct Block {
    int64_t row, rows;
    int64_t key, keys;
  };
  // Keys of the block that row `i` of it sees, if causal without end.
  int64_t own(const Block& block, int64_t i) const {
    return shape_.causal ? block.row + i + 1 - block.key : block.keys;
  }
  // Those that a tile of rows from `i` on sees.
  int64_t seen(const Block& block, int64_t i) const {
    return shape_.causal ? std::min(block.keys, own(block, i) + kTileRows - 1) : block.keys;
  }

  void pack_rows(const Block& block) {
    pack_left<Element>({q_[block.row], q_.stride}, block.rows, shape_.width, shape_.scale() * kLog2E, scratch_.queries);
    pack_left<Element>({grads_[block.row], grads_.stride}, block.rows, shape_.width, 1, scratch_.grads);
    for (int64_t i = 0; i < block.rows; ++i) {
      const float* const grads = scratch_.grads + i * kPitch;
      scratch_.product[i] = row_product(values_[block.row + i], grads, shape_.width);
      scratch_.log_sum_exp[i] = *log_sum_exp_[block.row + i] * kLog2E;
    }
    for (int64_t i = block.rows; i % kTileRows != 0; ++i) scratch_.product[i] = scratch_.log_sum_exp[i] = 0;
  }

  // Weights and gradients of the scores, before the scale, of all tiles of the block.
  void make_weights(const Block& block) {
    for (int64_t row = 0; row < block.rows; row += kTileRows) {
      float* const weights = scratch_.weights + row * kPitch;
      float* const grad_scores = scratch_.grad_scores + row * kPitch;
      const int64_t vectors = (seen(block, row) + kLanes - 1) / kLanes;
      multiply_row<kPitch, 1, kTileColumns>(scratch_.queries + row * kPitch, scratch_.keys, shape_.width * kTileColumns,
                                            shape_.width, vectors, ahead_,
                                            each_vector([weights, log_sum_exp = scratch_.log_sum_exp + row](
                                                            int64_t i, int64_t column, const Vector& sum) {
                                              store(weights + i * kPitch + column, exp2(sum - log_sum_exp[i]));
                                            }));
      hide_later_keys(block, row, weights);
      if (shape_.drops) {
        make_dropped_grad_scores(block, row, vectors);
      } else {
        multiply_row<kPitch, 1, kTileColumns>(scratch_.grads + row * kPitch, scratch_.values,
                                              shape_.width * kTileColumns, shape_.width, vectors, ahead_,
                                              each_vector([weights, grad_scores, product = scratch_.product + row](
                                                              int64_t i, int64_t column, const Vector& sum) {
                                                const Vector weight = load(weights + i * kPitch + column);
                                                store(grad_scores + i * kPitch + column, (sum - product[i]) * weight);
                                              }));
      }
      hide_later_keys(block, row, grad_scores);
    }
  }

  // Zeros where a row of a tile does not see keys that others see, or that stand in one tile of keys with its own last.
  void hide_later_keys(const Block& block, int64_t row, float* tile) const {
    if (!shape_.causal) return;
    for (int64_t i = 0; i < kTileRows && own(block, row + i) < block.keys; ++i)
      store(tile + i * kPitch + own(block, row + i), Vector{});
  }

  // The same with dropout, which leaves its mark on the weights too.
  void make_dropped_grad_scores(const Block& block, int64_t row, int64_t vectors) {
    float* const grad_scores = scratch_.grad_scores + row * kPitch;
    multiply_row<kPitch, 1, kTileColumns>(scratch_.grads + row * kPitch, scratch_.values, shape_.width * kTileColumns,
                                          shape_.width, vectors, ahead_,
                                          each_vector([grad_scores](int64_t i, int64_t column, const Vector& sum) {
                                            store(grad_scores + i * kPitch + column, sum);
                                          }));
    for (int64_t i = 0; i < kTileRows && row + i < block.rows; ++i) {
      const int64_t keys = std::min(own(block, row + i), block.keys);
      alignas(64) std::array<float, kKeyBlock> kept;
      shape_.kept(head_, block.row + row + i, block.key, keys, kept.data());
      float* const weights = scratch_.weights + (row + i) * kPitch;
      const float product = scratch_.product[row + i];
      for (int64_t key = 0; key < keys; ++key) {
        const float factor = kept[static_cast<size_t>(key)];
        grad_scores[i * kPitch + key] = (grad_scores[i * kPitch + key] * factor - product) * weights[key];
        weights[key] *= factor;
      }
    }
  }

  // grad_v += weights^T grads, grad_k += grad_scores^T queries.
  void add_to_keys(const Block& block) {
    const int64_t keys = seen(block, block.rows - 1);
    for (int64_t key = 0; key < keys; key += kTileRows) {
      const int64_t first = shape_.causal ? std::max<int64_t>(0, block.key + key - block.row) : 0;
      if (first >= block.rows) break;
      const auto add = [&](const float* left, const float* right, float* sums) {
        multiply_row<1, kPitch, kPitch>(
            left + first * kPitch + key, right + first * kPitch, kTileColumns, block.rows - first, pitch_ / kLanes,
            ahead_, each_vector([sums, pitch = pitch_](int64_t i, int64_t column, const Vector& sum) {
              float* const at = sums + i * pitch + column;
              store(at, load(at) + sum);
            }));
      };
      add(scratch_.weights, scratch_.grads, scratch_.grad_values + key * pitch_);
      add(scratch_.grad_scores, scratch_.queries, scratch_.grad_keys + key * pitch_);
    }
  }

  // grad_q += grad_scores keys.
  template <bool kFirst>
  void add_to_queries(const Block& block) {
    for (int64_t row = 0; row < block.rows; row += kTileRows) {
      multiply_row<kPitch, 1, kTileColumns>(scratch_.grad_scores + row * kPitch, scratch_.key_rows,
                                            kKeyBlock * kTileColumns, seen(block, row), pitch_ / kLanes, ahead_,
                                            each_vector([sums = sums_ + (block.row + row) * pitch_, pitch = pitch_](
                                                            int64_t i, int64_t column, const Vector& sum) {
                                              float* const at = sums + i * pitch + column;
                                              store(at, kFirst ? sum : load(at) + sum);
                                            }));
    }
  }

  // Rows that no later block of keys meets.
  void finish_queries(const Block& block) const {
    const int64_t keys_end = block.key + block.keys;
    if (!only_ || (!shape_.causal && keys_end < shape_.positions)) return;
    const auto grad_q = head_rows<Element>(call_.out[0], head_);
    const int64_t end =
        std::min(block.row + block.rows, keys_end == shape_.positions ? keys_end : block.key + kKeyBlock);
    for (int64_t row = block.row; row < end; ++row) write_row(sums_ + row * pitch_, shape_.width, 1, grad_q[row]);
  }

  const KernelCall& call_;
  const AttentionShape& shape_;
  int64_t head_, pitch_;
  float* sums_;
  bool only_;
  BackwardScratch scratch_;
  HeadRows<const Element> q_, k_, v_, values_, grads_;
  HeadRows<const float> log_sum_exp_;
  Ahead ahead_;
};

}  // namespace laptime::LAPTIME_ISA
