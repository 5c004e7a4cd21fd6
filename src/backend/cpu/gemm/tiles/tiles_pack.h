// Packing: blocks of a and slivers of b copied into words, in the order in which tiles read them.
#pragma once

#include <algorithm>

#include "backend/cpu/gemm/tiles/tiles_words.h"

namespace laptime::LAPTIME_ISA {

// A tile of sums, its columns of b and one element of a fill the registers.
constexpr int kTileVectors = 2;
constexpr int kTileColumns = kTileVectors * kLanes;
constexpr int kTileRows = kRegisters == 32 ? 14 : kLanes == 8 ? 6 : 4;

constexpr int64_t kDepth = 384;  // of the longest chunk of K
template <class Words>
constexpr int64_t kWords = kDepth / Words::kSpan;
// Words of a packed panel, and what its last vector stores too much.
template <class Words>
constexpr int64_t kPanel = kTileRows* kWords<Words> + kLanes;

// In elements.
struct Strides {
  int64_t row = 0, column = 0;
};

// The rows of a block spread evenly over its tiles, an even number for each (the last may stand for one row less).
class TileRows {
 public:
  explicit TileRows(int64_t rows) : pairs_((rows + 1) / 2), count_((rows + kTileRows - 1) / kTileRows) {}
  int64_t count() const { return count_; }
  int64_t first(int64_t tile) const { return (tile * pairs_ + count_ - 1) / count_ * 2; }  // the first is highest
  int64_t rows(int64_t tile) const { return first(tile + 1) - first(tile); }

 private:
  int64_t pairs_, count_;
};

// A chunk of a block of a.
struct BlockSource {
  const std::byte* first = nullptr;
  Strides strides;
  int64_t rows = 0, depth = 0;
  int64_t readable = 0;  // rows of a from the first on, the block's among them
};

// Word w of row i of a tile at w * kTileRows + i of its panel. What stands in the place of a row past the end is never
// stored. Whole vectors are: what is too much of one is overwritten by the next.

// Rows of a without gaps, those of one tile, turned square by square.
template <class Words, class Element>
void pack_rows(const BlockSource& source, const TileRows& tiles, int64_t tile, float* panel) {
  constexpr int64_t kSpan = Words::kSpan;
  const int64_t stride = source.strides.row;
  std::array<const Element*, kTileRows> rows;
  for (int64_t i = 0; i < kTileRows; ++i) {
    const int64_t row = std::min(tiles.first(tile) + i, source.rows - 1);
    rows[static_cast<size_t>(i)] = reinterpret_cast<const Element*>(source.first) + row * stride;
  }
  int64_t done = 0;
  for (; done + kLanes * kSpan <= source.depth; done += kLanes * kSpan) {
    std::array<Vector, kLanes> square{};
#pragma GCC unroll 16
    for (size_t i = 0; i < kTileRows; ++i) square[i] = Words::along(rows[i] + done);
    transpose(square);
    float* const to = panel + done / kSpan * kTileRows;
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanes; ++i) store(to + i * kTileRows, square[static_cast<size_t>(i)]);
  }
  for (; done < source.depth; done += kSpan) {
    float* const to = panel + done / kSpan * kTileRows;
    for (size_t i = 0; i < kTileRows; ++i) to[i] = Words::one(rows[i] + done, 1, source.depth - done);
  }
}

// Columns of a without gaps, or none. All panels side by side, so that each cache line of a is read once: the lines of
// one column may all fall on one cache set.
template <class Words, class Element>
void pack_columns(const BlockSource& source, const TileRows& tiles, float* panels) {
  static_assert(kLanes >= kTileRows);
  constexpr int64_t kAhead = 4;  // words
  const auto [row_stride, stride] = source.strides;
  const auto* from = reinterpret_cast<const Element*>(source.first);
  int64_t whole = 0;  // tiles that may be read by vectors
  while (row_stride == 1 && whole < tiles.count() && tiles.first(whole) + kLanes <= source.readable) ++whole;
  for (int64_t done = 0; done < source.depth; done += Words::kSpan, from += Words::kSpan * stride) {
    float* to = panels + done / Words::kSpan * kTileRows;
    const int64_t left = source.depth - done;
    const bool ahead = left > kAhead * Words::kSpan;
    int64_t tile = 0;
    if (left >= Words::kSpan) {
      for (; tile < whole; ++tile, to += kPanel<Words>) {
        const Element* const at = from + tiles.first(tile);
        if (ahead) __builtin_prefetch(at + kAhead * Words::kSpan * stride);
        store(to, Words::across(at, stride));
      }
    }
    for (; tile < tiles.count(); ++tile, to += kPanel<Words>) {
      for (int64_t i = 0; i < tiles.rows(tile); ++i) {
        const int64_t row = std::min(tiles.first(tile) + i, source.rows - 1);
        to[i] = Words::one(from + row * row_stride, stride, left);
      }
    }
  }
}

// How a block of a is packed: by tiles where its rows have no gaps, else at once.
struct PackBlock {
  void (*tile)(const BlockSource& source, const TileRows& tiles, int64_t tile, float* panel) = nullptr;
  void (*all)(const BlockSource& source, const TileRows& tiles, float* panels) = nullptr;
};
template <class Words, class Element>
constexpr PackBlock kPackBlock{pack_rows<Words, Element>, pack_columns<Words, Element>};

// A chunk of up to kTileColumns columns of b.
struct SliverSource {
  const std::byte* first = nullptr;
  Strides strides;
  int64_t depth = 0, columns = 0;
};
// Word w of column j at w * kTileColumns + j; columns past the end are zeros.
template <class Words, class Element>
void pack_sliver(const SliverSource& source, float* sliver) {
  constexpr int64_t kSpan = Words::kSpan;
  const auto* const from = reinterpret_cast<const Element*>(source.first);
  const auto [row_stride, column_stride] = source.strides;
  const int64_t depth = source.depth;
  const bool full = source.columns == kTileColumns;
  int64_t done = 0;  // elements of K packed
  if (full && column_stride == 1) {
    for (; done + kSpan <= depth; done += kSpan) {
      for (int64_t j = 0; j < kTileColumns; j += kLanes)
        store(sliver + done / kSpan * kTileColumns + j, Words::across(from + done * row_stride + j, row_stride));
    }
  } else if (full && row_stride == 1) {
    for (; done + kLanes * kSpan <= depth; done += kLanes * kSpan) {
      for (int64_t j = 0; j < kTileColumns; j += kLanes) {
        std::array<Vector, kLanes> square;
        for (int64_t i = 0; i < kLanes; ++i)
          square[static_cast<size_t>(i)] = Words::along(from + done + (j + i) * column_stride);
        transpose(square);
        float* const to = sliver + done / kSpan * kTileColumns + j;
        for (int64_t i = 0; i < kLanes; ++i) store(to + i * kTileColumns, square[static_cast<size_t>(i)]);
      }
    }
  }
  for (; done < depth; done += kSpan) {
    float* const to = sliver + done / kSpan * kTileColumns;
    for (int64_t j = 0; j < source.columns; ++j)
      to[j] = Words::one(from + done * row_stride + j * column_stride, row_stride, depth - done);
    std::fill(to + source.columns, to + kTileColumns, 0.0F);
  }
}

}  // namespace laptime::LAPTIME_ISA
