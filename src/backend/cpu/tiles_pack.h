// Packing: blocks of a and slivers of b copied into words, in the order in which tiles read them.
#pragma once

#include <algorithm>

#include "backend/cpu/tiles_words.h"

namespace laptime::LAPTIME_ISA {

// A tile of sums, its columns of b and one element of a fill the registers.
constexpr int kTileVectors = 2;
constexpr int kTileColumns = kTileVectors * kLanes;
constexpr int kTileRows = kRegisters == 32 ? 14 : kLanes == 8 ? 6 : 4;

constexpr int64_t kDepth = 384;  // of the longest chunk of K
template <class Words>
constexpr int64_t kWords = kDepth / Words::kSpan;
// Words of a packed row: a little more, so that rows do not fall on the same cache sets.
template <class Words>
constexpr int64_t kPitch = kWords<Words> + 16;
template <class Words>
constexpr int64_t kPanel = kTileRows* kPitch<Words>;  // of the rows of a tile

// In elements.
struct Strides {
  int64_t row = 0, column = 0;
};

// The rows of a block spread evenly over its tiles, an even number for each (the last may stand for one row less).
class TileRows {
 public:
  explicit TileRows(int64_t rows) : pairs_((rows + 1) / 2), count_((rows + kTileRows - 1) / kTileRows) {}
  int64_t count() const { return count_; }
  int64_t first(int64_t tile) const { return tile * pairs_ / count_ * 2; }
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
  // How it is packed: word w of row i of a panel at w * kTileRows + i, else at i * kPitch + w.
  bool by_depth = false;
};

template <class Words, class Element>
void pack_row(const Element* from, int64_t stride, int64_t depth, float* to) {
  constexpr int64_t kSpan = Words::kSpan;
  int64_t done = 0;
  if (stride == 1) {
    for (; done + kLanes * kSpan <= depth; done += kLanes * kSpan) store(to + done / kSpan, Words::along(from + done));
  }
  for (; done < depth; done += kSpan) to[done / kSpan] = Words::one(from + done * stride, stride, depth - done);
}

template <class Words, class Element>
void pack_by_rows(const BlockSource& source, const TileRows& tiles, float* panels) {
  const auto* const from = reinterpret_cast<const Element*>(source.first);
  const int64_t words = (source.depth + Words::kSpan - 1) / Words::kSpan;
  for (int64_t tile = 0; tile < tiles.count(); ++tile) {
    for (int64_t i = 0; i < tiles.rows(tile); ++i) {
      const int64_t row = tiles.first(tile) + i;
      float* const to = panels + tile * kPanel<Words> + i * kPitch<Words>;
      if (row < source.rows) {
        pack_row<Words>(from + row * source.strides.row, source.strides.column, source.depth, to);
      } else {
        std::fill_n(to, words, 0.0F);
      }
    }
  }
}

// All panels side by side, so that each cache line of a is read once: the lines of one column may all fall on one cache
// set. Whole vectors are stored; what is too much of one is overwritten by the next.
template <class Words, class Element>
void pack_by_depth(const BlockSource& source, const TileRows& tiles, float* panels) {
  static_assert(kLanes >= kTileRows && kPanel<Words> >= kWords<Words> * kTileRows + kLanes);
  constexpr int64_t kAhead = 4;  // words
  const int64_t stride = source.strides.column;
  const auto* from = reinterpret_cast<const Element*>(source.first);
  int64_t whole = 0;  // tiles that may be read by vectors
  while (whole < tiles.count() && tiles.first(whole) + kLanes <= source.readable &&
         tiles.first(whole + 1) <= source.rows)
    ++whole;
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
        const int64_t row = tiles.first(tile) + i;
        to[i] = row < source.rows ? Words::one(from + row, stride, left) : 0.0F;
      }
    }
  }
}

using PackBlock = void (*)(const BlockSource& source, const TileRows& tiles, float* panels);

template <class Words, class Element>
void pack_block(const BlockSource& source, const TileRows& tiles, float* panels) {
  source.by_depth ? pack_by_depth<Words, Element>(source, tiles, panels)
                  : pack_by_rows<Words, Element>(source, tiles, panels);
}

// A chunk of up to kTileColumns columns of b.
struct SliverSource {
  const std::byte* first = nullptr;
  Strides strides;
  int64_t depth = 0, columns = 0;
};
using PackSliver = void (*)(const SliverSource& source, float* sliver);

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
