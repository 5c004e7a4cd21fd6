// A tile of c: packed rows of a by a packed sliver of b, summed in registers, and what is done with the sums.
#pragma once

#include "backend/cpu/gemm/tiles/tiles_pack.h"
#include "backend/cpu/gemm/tiles/tiles_target.h"

namespace laptime::LAPTIME_ISA {

// A rectangle of memory that is wanted soon, fetched a few cache lines at a time: in a burst they would stall the sums.
template <bool kWrite>
class Ahead {
 public:
  Ahead() = default;
  Ahead(const void* first, int64_t rows, int64_t row_bytes, int64_t pitch) : rows_(rows), pitch_(pitch) {
    const auto address = reinterpret_cast<uintptr_t>(first);
    const auto past = static_cast<int64_t>(address & (kLine - 1));
    row_ = static_cast<const std::byte*>(first) - past;
    bytes_ = row_bytes + past;
  }

  int64_t lines() const { return rows_ * ceil_div(bytes_, kLine); }
  void fetch(int64_t lines) {
    for (; lines > 0 && rows_ > 0; --lines) {
      if constexpr (kWrite) {
        __builtin_prefetch(row_ + at_, 1);
      } else {
        __builtin_prefetch(row_ + at_, 0, 2);  // as far as the second-level cache
      }
      at_ += kLine;
      if (at_ < bytes_) continue;
      at_ = 0;
      row_ += pitch_;
      --rows_;
    }
  }

 private:
  static constexpr int64_t kLine = 64;
  const std::byte* row_ = nullptr;
  int64_t rows_ = 0, bytes_ = 0, pitch_ = 0;
  int64_t at_ = 0;
};

// The bytes that a tile is going to write.
inline Ahead<true> c_ahead(const TileTarget& to) {
  if (to.narrow != nullptr) return {to.narrow, to.rows, to.columns * 2, to.pitch * 2};
  return {to.c, to.rows, to.columns * 4, to.pitch * 4};
}

// What a tile fetches beside its own operands in each stretch of kStretch words.
struct TileAhead {
  Ahead<false>* sliver = nullptr;  // of b, to be packed soon
  int64_t sliver_lines = 0;
  Ahead<false>* block = nullptr;  // of a, for the next chunk of K
  int64_t block_lines = 0;
  int64_t c_lines = 0;
};
constexpr int64_t kStretch = 16;

// Where a tile reads its sliver of b: packed,
class PackedSliver {
 public:
  explicit PackedSliver(const float* words) : words_(words) {}
  Vector at(int64_t w, int64_t v) const { return load(words_ + w * kTileColumns + v * kLanes); }
  void advance() { words_ += kStretch * kTileColumns; }

 private:
  const float* words_;
};
// or from rows of b without gaps, packing it for the tiles to come.
template <class Words, class Element>
class PackingSliver {
 public:
  PackingSliver(const SliverSource& source, float* words)
      : from_(reinterpret_cast<const Element*>(source.first)), stride_(source.strides.row), words_(words) {}
  Vector at(int64_t w, int64_t v) const {
    const Vector value = Words::across(from_ + w * Words::kSpan * stride_ + v * kLanes, stride_);
    store(words_ + w * kTileColumns + v * kLanes, value);
    return value;
  }
  void advance() {
    from_ += kStretch * Words::kSpan * stride_;
    words_ += kStretch * kTileColumns;
  }

 private:
  const Element* from_;
  int64_t stride_;
  float* words_;
};

// kRows packed rows of a by one sliver of b.
template <class Words, int kRows, class Sliver>
void multiply_tile(const float* a, Sliver b, int64_t words, const TileTarget& to, const TileAhead& ahead) {
  std::array<std::array<Vector, kTileVectors>, kRows> sums{};
  const auto step = [&](int64_t w) {
    std::array<Vector, kTileVectors> row;
#pragma GCC unroll 2
    for (size_t v = 0; v < kTileVectors; ++v) row[v] = b.at(w, static_cast<int64_t>(v));
#pragma GCC unroll 16
    for (size_t i = 0; i < kRows; ++i) {
      const float factor = a[w * kTileRows + static_cast<int64_t>(i)];
#pragma GCC unroll 2
      for (size_t v = 0; v < kTileVectors; ++v) Words::multiply(sums[i][v], factor, row[v]);
    }
  };
  Ahead<true> c_lines = c_ahead(to);
  Ahead<true> addend_ahead;
  if (to.addend != to.c)
    addend_ahead = {to.addend, to.addend == nullptr ? 0 : to.rows, to.columns * 4, to.addend_pitch * 4};
  for (; words >= kStretch; words -= kStretch, a += kStretch * kTileRows, b.advance()) {
    c_lines.fetch(ahead.c_lines);
    addend_ahead.fetch(ahead.c_lines);
    ahead.sliver->fetch(ahead.sliver_lines);
    ahead.block->fetch(ahead.block_lines);
    for (int64_t w = 0; w < kStretch; ++w) {
      __builtin_prefetch(a + (w + kStretch) * kTileRows);
      step(w);
    }
  }
  for (int64_t w = 0; w < words; ++w) step(w);

  const bool plain = to.c != nullptr && to.bias == nullptr && to.narrow_addend == nullptr && to.rows == kRows &&
                     to.columns == kTileColumns;
  if (plain && to.addend == nullptr) {
#pragma GCC unroll 16
    for (size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (size_t v = 0; v < kTileVectors; ++v)
        store(to.c + static_cast<int64_t>(i) * to.pitch + v * kLanes, sums[i][v]);
    }
    return;
  }
  if (plain) {
#pragma GCC unroll 16
    for (size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (size_t v = 0; v < kTileVectors; ++v) {
        const Vector before = load(to.addend + static_cast<int64_t>(i) * to.addend_pitch + v * kLanes);
        store(to.c + static_cast<int64_t>(i) * to.pitch + v * kLanes, before + sums[i][v]);
      }
    }
    return;
  }
  alignas(64) std::array<float, static_cast<size_t>(kTileRows) * kTileColumns> spilled;
#pragma GCC unroll 16
  for (size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (size_t v = 0; v < kTileVectors; ++v) store(spilled.data() + i * kTileColumns + v * kLanes, sums[i][v]);
  }
  store_sums(spilled.data(), to);
}

using MultiplyTile = void (*)(const float* a, PackedSliver b, int64_t words, const TileTarget& to,
                              const TileAhead& ahead);

// The tile of `rows` packed rows, an even number.
template <class Words>
MultiplyTile tile_of(int64_t rows) {
  static_assert(kTileRows % 2 == 0);
  return []<int... kPair>(std::integer_sequence<int, kPair...>, int64_t pairs) {
    static constexpr std::array<MultiplyTile, sizeof...(kPair)> kTiles{
        multiply_tile<Words, 2 * (kPair + 1), PackedSliver>...};
    return kTiles[static_cast<size_t>(pairs - 1)];
  }
  (std::make_integer_sequence<int, kTileRows / 2>(), rows / 2);
}

// How a sliver of b is packed: at once, or by the first of the tiles that read it.
struct PackSliver {
  void (*all)(const SliverSource& source, float* sliver) = nullptr;
  void (*multiply)(const float* a, const SliverSource& source, float* sliver, const TileTarget& to,
                   const TileAhead& ahead) = nullptr;
};

// A tile of kTileRows rows by a sliver of kTileColumns columns whose rows have no gaps, and whose depth is whole words.
template <class Words, class Element>
void multiply_and_pack(const float* a, const SliverSource& source, float* sliver, const TileTarget& to,
                       const TileAhead& ahead) {
  multiply_tile<Words, kTileRows>(a, PackingSliver<Words, Element>(source, sliver), source.depth / Words::kSpan, to,
                                  ahead);
}

template <class Words, class Element>
constexpr PackSliver kPackSliver{pack_sliver<Words, Element>, multiply_and_pack<Words, Element>};

}  // namespace laptime::LAPTIME_ISA
