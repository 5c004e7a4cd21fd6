// Attention a few rows at a time, for heads too wide to pack: each row of scores is held whole.
#pragma once

#include "ops/scaled_dot_product_attention/tiles/tiles_cpu.h"

namespace laptime::LAPTIME_ISA {

constexpr int kRowsAtOnce = 8;

// What one thread holds: kRowsAtOnce rows of two operands, and for each of them a number for every position, twice.
struct RowsScratch {
  int64_t width_pitch, position_pitch;
  float* left;    // [kRowsAtOnce, width in whole vectors]
  float* other;   // the same
  float* first;   // [kRowsAtOnce, positions in whole vectors]
  float* second;  // the same

  static int64_t bytes(int64_t positions, int64_t width) {
    return ((Size(rounded_up(positions, kLanes)) + rounded_up(width, kLanes)) * 2 * kRowsAtOnce * 4).value();
  }
  RowsScratch(const AttentionShape& shape, std::byte* scratch)
      : width_pitch(rounded_up(shape.width, kLanes)), position_pitch(rounded_up(shape.positions, kLanes)) {
    left = reinterpret_cast<float*>(scratch);
    other = left + kRowsAtOnce * width_pitch;
    first = other + kRowsAtOnce * width_pitch;
    second = first + kRowsAtOnce * position_pitch;
  }
};

// A block of rows of one head, of queries or of keys, with what each row meets on the other side.
template <class Element>
class RowBlock {
 public:
  RowBlock(const AttentionShape& shape, int64_t head, int64_t first_row, std::byte* scratch)
      : shape_(shape),
        head_(head),
        first_row_(first_row),
        rows_(std::min<int64_t>(kRowsAtOnce, shape.positions - first_row)),
        scratch_(shape, scratch) {}

  // None is ever inlined: two copies could fuse other products into sums, and the last bit would tell one thread from
  // two.
  [[gnu::noinline]] void forward(const KernelCall& call) {
    load_rows(head_rows<const Element>(call.in[0], head_), shape_.scale() * kLog2E, scratch_.left);
    const int64_t end = shape_.causal ? first_row_ + rows_ : shape_.positions;
    multiply(scratch_.left, head_rows<const Element>(call.in[1], head_), 0, end, scratch_.first);
    float* const log_sum_exp = call.out[1].data == nullptr ? nullptr : call.out[1].as<float>();
    for (int64_t i = 0; i < rows_; ++i) {
      const int64_t row = first_row_ + i;
      float* const weights = scratch_.first + i * scratch_.position_pitch;
      float largest = -__builtin_inff();
      float total = 0;
      const int64_t keys = shape_.causal ? row + 1 : end;
      weigh_row(weights, keys, end, largest, total);
      for (int64_t key = 0; key < keys; ++key)
        weights[key] *= (shape_.drops ? shape_.kept(head_, row, key) : 1) / total;
      if (log_sum_exp != nullptr) log_sum_exp[head_ * shape_.positions + row] = largest * kLn2 + log_f32(total);
    }
    add_up(scratch_.first, head_rows<const Element>(call.in[2], head_), 0, end, 1,
           head_rows<Element>(call.out[0], head_));
  }

  // grad_q; each row's product of grads and values goes to `products`.
  [[gnu::noinline]] void backward_of_queries(const KernelCall& call, float* products) {
    load_rows(head_rows<const Element>(call.in[0], head_), shape_.scale() * kLog2E, scratch_.left);
    load_rows(head_rows<const Element>(call.in[5], head_), 1, scratch_.other);
    const int64_t end = shape_.causal ? first_row_ + rows_ : shape_.positions;
    const auto keys = head_rows<const Element>(call.in[1], head_);
    multiply(scratch_.left, keys, 0, end, scratch_.first);
    multiply(scratch_.other, head_rows<const Element>(call.in[2], head_), 0, end, scratch_.second);
    const auto values = head_rows<const Element>(call.in[3], head_);
    for (int64_t i = 0; i < rows_; ++i) {
      const int64_t row = first_row_ + i;
      float product = 0;
      const float* const grads = scratch_.other + i * scratch_.width_pitch;
#pragma omp simd reduction(+ : product)
      for (int64_t column = 0; column < shape_.width; ++column) product += widened(values[row][column]) * grads[column];
      products[head_ * shape_.positions + row] = product;
      for (int64_t key = 0; key < end; ++key) grad_score(call, products, row, key, i * scratch_.position_pitch + key);
    }
    add_up(scratch_.second, keys, 0, end, shape_.scale(), head_rows<Element>(call.out[0], head_));
  }

  // grad_k and grad_v, when all products are there.
  [[gnu::noinline]] void backward_of_keys(const KernelCall& call, const float* products) {
    load_rows(head_rows<const Element>(call.in[1], head_), shape_.scale() * kLog2E, scratch_.left);
    load_rows(head_rows<const Element>(call.in[2], head_), 1, scratch_.other);
    const int64_t begin = shape_.causal ? first_row_ : 0;
    const auto queries = head_rows<const Element>(call.in[0], head_);
    const auto grads = head_rows<const Element>(call.in[5], head_);
    multiply(scratch_.left, queries, begin, shape_.positions, scratch_.first);
    multiply(scratch_.other, grads, begin, shape_.positions, scratch_.second);
    for (int64_t i = 0; i < rows_; ++i) {
      for (int64_t row = begin; row < shape_.positions; ++row)
        grad_score(call, products, row, first_row_ + i, i * scratch_.position_pitch + row);
    }
    add_up(scratch_.second, queries, begin, shape_.positions, shape_.scale(), head_rows<Element>(call.out[1], head_));
    add_up(scratch_.first, grads, begin, shape_.positions, 1, head_rows<Element>(call.out[2], head_));
  }

 private:
  void load_rows(HeadRows<const Element> from, float scale, float* to) const {
    for (int64_t i = 0; i < rows_; ++i)
      pack_row(from[first_row_ + i], shape_.width, scale, to + i * scratch_.width_pitch);
    std::fill_n(to + rows_ * scratch_.width_pitch, (kRowsAtOnce - rows_) * scratch_.width_pitch, 0.0F);
  }

  // result[i][j] = left[i] . right[j] for j in [begin, end).
  void multiply(const float* left, HeadRows<const Element> right, int64_t begin, int64_t end, float* result) const {
    const int64_t whole = shape_.width / kLanes * kLanes;
    for (int64_t j = begin; j < end; ++j) {
      const Element* const row = right[j];
      std::array<Vector, kRowsAtOnce> sums{};
      const auto add = [&](const Vector& factor, int64_t column) {
#pragma GCC unroll 8
        for (size_t i = 0; i < kRowsAtOnce; ++i)
          sums[i] += load(left + static_cast<int64_t>(i) * scratch_.width_pitch + column) * factor;
      };
      for (int64_t column = 0; column < whole; column += kLanes) add(load(row + column), column);
      if (whole < shape_.width) {
        alignas(64) std::array<float, kLanes> rest;
        pack_row(row + whole, shape_.width - whole, 1, rest.data());
        add(load(rest.data()), whole);
      }
      for (size_t i = 0; i < kRowsAtOnce; ++i)
        result[static_cast<int64_t>(i) * scratch_.position_pitch + j] = lane_sum(sums[i])[0];
    }
  }

  // Row first_row_ + i of `to` = scale * sum over j in [begin, end) of factors[i][j] right[j].
  void add_up(const float* factors, HeadRows<const Element> right, int64_t begin, int64_t end, float scale,
              HeadRows<Element> to) const {
    for (int64_t column = 0; column < shape_.width; column += kTileColumns) {
      const int64_t columns = std::min<int64_t>(kTileColumns, shape_.width - column);
      std::array<std::array<Vector, kTileVectors>, kRowsAtOnce> sums{};
      alignas(64) std::array<float, kTileColumns> piece{};
      for (int64_t j = begin; j < end; ++j) {
        pack_row(right[j] + column, columns, 1, piece.data());
#pragma GCC unroll 8
        for (size_t i = 0; i < kRowsAtOnce; ++i) {
          const float factor = factors[static_cast<int64_t>(i) * scratch_.position_pitch + j];
#pragma GCC unroll 2
          for (size_t v = 0; v < kTileVectors; ++v) sums[i][v] += factor * load(piece.data() + v * kLanes);
        }
      }
      for (int64_t i = 0; i < rows_; ++i) {
        for (size_t v = 0; v < kTileVectors; ++v) store(piece.data() + v * kLanes, sums[static_cast<size_t>(i)][v]);
        write_row(piece.data(), columns, scale, to[first_row_ + i] + column);
      }
    }
  }

  // Scores of powers of two into their powers, unseen ones up to `end` into zeros.
  static void weigh_row(float* scores, int64_t keys, int64_t end, float& largest, float& total) {
    for (int64_t key = 0; key < keys; ++key) largest = scores[key] > largest ? scores[key] : largest;
    for (int64_t key = 0; key < keys; ++key) total += scores[key] = exp_f32((scores[key] - largest) * kLn2);
    for (int64_t key = keys; key < end; ++key) scores[key] = 0;
  }

  // The score in `first` at `place` becomes a weight with dropout, its gradient's part in `second` the whole, both
  // before the scale.
  void grad_score(const KernelCall& call, const float* products, int64_t row, int64_t key, int64_t place) {
    float& weight = scratch_.first[place];
    float& grad = scratch_.second[place];
    if (shape_.causal && key > row) {
      weight = grad = 0;
      return;
    }
    const float log_sum_exp = *head_rows<const float>(call.in[4], head_)[row];
    const float kept = shape_.drops ? shape_.kept(head_, row, key) : 1;
    weight = exp_f32(weight * kLn2 - log_sum_exp);
    grad = (grad * kept - products[head_ * shape_.positions + row]) * weight;
    weight *= kept;
  }

  const AttentionShape& shape_;
  int64_t head_, first_row_, rows_;
  RowsScratch scratch_;
};

}  // namespace laptime::LAPTIME_ISA
