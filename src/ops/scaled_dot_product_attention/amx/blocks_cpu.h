// Blocks of attention as tiles of AMX: packed factors, and squares of sums.
#pragma once

#include "backend/cpu/gemm/amx/amx_multiply.h"
#include "ops/scaled_dot_product_attention/tiles/scores_cpu.h"

namespace laptime::LAPTIME_ISA {

constexpr int64_t kPitch = kKeyBlock + kLanes;  // of scores; not a power of two, or rows fall on the same cache sets

// Of which terms the operands are, and what is made of them in float32: of bfloat16 two, since one would round it.
template <class Element>
struct AmxTerms {
  using Input = OneTerm<Brain>;
  using Made = TwoTerms;
};
template <>
struct AmxTerms<float> {
  using Input = ThreeTerms;
  using Made = ThreeTerms;
};

inline int64_t steps_of(int64_t depth) { return ceil_div(depth, kStep); }

// A left factor packed in panels of 32 rows, or a right one in slivers of 32 columns.
template <class Terms>
struct Panels {
  static constexpr int64_t kStepFloats = Terms::kTerms * kStepWords;

  float* first = nullptr;
  int64_t steps = 0;  // of K, in each

  float* at(int64_t index, int64_t step = 0) const { return first + (index * steps + step) * kStepFloats; }
  static int64_t floats(int64_t lines, int64_t depth) {
    return ceil_div(lines, kSquare) * steps_of(depth) * kStepFloats;
  }

  // From rows, K along them or across.
  static Panels of_rows(const BlockSource& source, float* to) {
    const Panels panels{to, steps_of(source.depth)};
    alignas(64) Turning turning;
    for (int64_t row = 0; row < align_up(source.rows, kSquare); row += kTile) {
      float* tile = to + row / kSquare * panels.steps * kStepFloats + row % kSquare / kTile * kTileWords;
      for (int64_t k = 0; k < source.depth; k += kStep, tile += kStepFloats)
        for (int64_t piece = 0; piece < Terms::kPieces; ++piece)
          pack_rows_tile<Terms>(source, row, k, piece, turning.data(), tile);
    }
    return panels;
  }
  static Panels of_columns(const SliverSource& source, float* to) {
    const Panels panels{to, steps_of(source.depth)};
    alignas(64) Turning turning;
    for (int64_t column = 0; column < align_up(source.columns, kSquare); column += kTile) {
      float* tile = to + column / kSquare * panels.steps * kStepFloats + column % kSquare;
      for (int64_t k = 0; k < source.depth; k += kStep, tile += kStepFloats)
        for (int64_t piece = 0; piece < Terms::kPieces; ++piece)
          pack_columns_tile<Terms>(source, column, k, piece, turning.data(), tile);
    }
    return panels;
  }
};

// Rows [first, first + rows) of a head, as they lie: K along the rows,
template <class Element>
BlockSource block_of(const HeadRows<const Element>& head, int64_t first, int64_t rows, int64_t width) {
  return {reinterpret_cast<const std::byte*>(head[first]), {head.stride, 1}, rows, width, rows};
}
// the same as columns of a right factor,
template <class Element>
SliverSource columns_of(const HeadRows<const Element>& head, int64_t first, int64_t rows, int64_t width) {
  return {reinterpret_cast<const std::byte*>(head[first]), {1, head.stride}, width, rows};
}
// or K across them.
template <class Element>
SliverSource depth_of(const HeadRows<const Element>& head, int64_t first, int64_t rows, int64_t width) {
  return {reinterpret_cast<const std::byte*>(head[first]), {head.stride, 1}, rows, width};
}

// The same turned, as rows of a left factor.
template <class Element>
BlockSource turned_of(const HeadRows<const Element>& head, int64_t first, int64_t rows, int64_t width) {
  return {reinterpret_cast<const std::byte*>(head[first]), {1, head.stride}, width, rows, width};
}

// Work that a core does while tiles are multiplied, which take it few instructions: in small units, spread evenly over
// the `times` that there are between the products. Work::unit() does the next one and says whether another is left.
template <class Work>
class Aside {
 public:
  Aside(const Work& work, int64_t units, int64_t times) : work_(work), units_(units), times_(times) {}
  void some() {
    for (due_ += units_; due_ >= times_; due_ -= times_) left_ = left_ && work_.unit();
  }
  void rest() {
    while (left_) left_ = work_.unit();
  }

 private:
  Work work_;
  int64_t units_, times_;
  int64_t due_ = 0;  // units, times times_
  bool left_ = true;
};
struct NoWork {
  bool unit() { return false; }
};
inline Aside<NoWork> nothing_aside() { return {{}, 0, 1}; }

template <class Left, class Right, class Work>
[[gnu::noinline]] LAPTIME_AMX inline void square_of(const float* left, const float* right, int64_t steps,
                                                    const SquarePlace& place, Aside<Work>& aside) {
  multiply_square<Left::kTerms, Right::kTerms>(left, right, steps, place, [&] { aside.some(); });
}
// The times in a step.
template <class Left, class Right>
constexpr int64_t kTimes = kTermPairs<Left::kTerms, Right::kTerms>.size();

// A line of a tile of a left factor: 32 columns of row `row` of a panel; and of a right one: 16 columns, from `column`
// of a sliver on, of rows 2 `pair` and 2 `pair` + 1. `step` is where the step's words are.
inline auto to_left(float* step, int64_t row) {
  float* const to = step + row / kTile * kTileWords;
  return [to](int64_t term, int64_t line, const Vector& words) { store(to + term * kStepWords + line * kTile, words); };
}
inline auto to_right(float* step, int64_t column) {
  return [to = step + column](int64_t term, int64_t pair, const Vector& words) {
    store(to + term * kStepWords + pair * kSquare, words);
  };
}

// A square of sums without gaps but for the pitch, started from zeros or added to.
inline SquarePlace square_at(float* sums, int64_t pitch, bool add) {
  return {.from = add ? sums : nullptr, .from_pitch = pitch, .to = sums, .to_pitch = pitch};
}

}  // namespace laptime::LAPTIME_ISA
