// Copies elements by rows, by tiles for transposes, or one by one; fills tensors.
#include "backend/cpu/vector/copy_elements.h"

#include <bit>
#include <cstring>
#include <utility>

#include "backend/cpu/vector/vectors.h"
#include "base/checked.h"

namespace laptime::LAPTIME_ISA {
namespace {

using cpu::Team;

// Rows and columns of a tile that is transposed in registers. With AVX-512, a row of 4-byte elements fills a cache
// line.
constexpr int kTransposeTile = kLanes == 16 ? 16 : 8;
constexpr int kTransposeRounds = std::countr_zero(static_cast<unsigned>(kTransposeTile));

// Interleaves elements of a and b, from the first half of each (half 0) or from the second half (half 1).
template <int half, class Vector, int... index>
void interleave(const Vector& a, const Vector& b, Vector& to, std::integer_sequence<int, index...>) {
  to = __builtin_shufflevector(a, b, (half * kTransposeTile / 2 + index / 2 + (index % 2) * kTransposeTile)...);
}

// Each round interleaves rows that are half the tile apart; after kTransposeRounds rounds the tile is transposed.
template <class Word>
void transpose_tile(const Word* from, int64_t from_stride, Word* to, int64_t to_stride) {
  using Vector __attribute__((vector_size(kTransposeTile * sizeof(Word)))) = Word;
  constexpr auto kIndices = std::make_integer_sequence<int, kTransposeTile>();
  Vector rows[kTransposeTile];
  for (int i = 0; i < kTransposeTile; ++i) std::memcpy(&rows[i], from + i * from_stride, sizeof(Vector));
  for (int round = 0; round < kTransposeRounds; ++round) {
    Vector next[kTransposeTile];
    for (int i = 0; i < kTransposeTile / 2; ++i) {
      interleave<0>(rows[i], rows[i + kTransposeTile / 2], next[2 * i], kIndices);
      interleave<1>(rows[i], rows[i + kTransposeTile / 2], next[2 * i + 1], kIndices);
    }
    for (int i = 0; i < kTransposeTile; ++i) rows[i] = next[i];
  }
  for (int i = 0; i < kTransposeTile; ++i) std::memcpy(to + i * to_stride, &rows[i], sizeof(Vector));
}

// Sets to[b][a] = from[a][b]. `from_stride` and `to_stride` are the distances between rows; elements of a row are
// contiguous.
template <class Word>
void transpose_block(const Word* from, int64_t from_stride, Word* to, int64_t to_stride, int64_t a_size,
                     int64_t b_size) {
  for (int64_t a = 0; a < a_size; a += kTransposeTile) {
    for (int64_t b = 0; b < b_size; b += kTransposeTile) {
      const Word* tile_from = from + a * from_stride + b;
      Word* tile_to = to + b * to_stride + a;
      if (a + kTransposeTile <= a_size && b + kTransposeTile <= b_size) {
        transpose_tile(tile_from, from_stride, tile_to, to_stride);
        continue;
      }
      for (int64_t i = 0; i < kTransposeTile && a + i < a_size; ++i) {
        for (int64_t j = 0; j < kTransposeTile && b + j < b_size; ++j)
          tile_to[j * to_stride + i] = tile_from[i * from_stride + j];
      }
    }
  }
}

// If operand 0 is contiguous along the innermost axis, returns another axis, along which operand 1 is contiguous.
// Returns -1 if there is no such axis, or if one of the two axes is shorter than a tile.
int transposed_axis(const LoopNest& nest) {
  if (nest.column_stride(0) != 1 || nest.column_stride(1) <= 1 || nest.columns() < kTransposeTile) return -1;
  for (int axis = 0; axis < nest.rank - 1; ++axis) {
    if (nest.stride[1][static_cast<size_t>(axis)] == 1 && nest.size[static_cast<size_t>(axis)] >= kTransposeTile)
      return axis;
  }
  return -1;
}

template <class Word>
void transpose(Team& team, const LoopNest& nest, int axis, const TensorView& from, const TensorView& to) {
  // Each thread transposes blocks of kAcross elements along the innermost axis of the result, and kAlong elements along
  // the innermost axis of the source.
  constexpr int64_t kAcross = 64;
  constexpr int64_t kAlong = 256;
  const auto along = static_cast<size_t>(axis);
  const auto across = static_cast<size_t>(nest.rank - 1);
  const int64_t across_blocks = ceil_div(nest.size[across], kAcross);
  const int64_t along_blocks = ceil_div(nest.size[along], kAlong);
  int64_t count = across_blocks * along_blocks;
  for (size_t i = 0; i < across; ++i) count *= i == along ? 1 : nest.size[i];
  const Word* source = reinterpret_cast<const Word*>(from.data) + nest.offset[1];
  Word* target = reinterpret_cast<Word*>(to.data) + nest.offset[0];
  team.parallel_ranges(count, [&](int64_t index) {
    const int64_t a = index % across_blocks * kAcross;
    index /= across_blocks;
    const int64_t b = index % along_blocks * kAlong;
    index /= along_blocks;
    int64_t source_position = b + a * nest.stride[1][across];
    int64_t target_position = a + b * nest.stride[0][along];
    for (size_t i = across; i-- > 0;) {
      if (i == along) continue;
      source_position += index % nest.size[i] * nest.stride[1][i];
      target_position += index % nest.size[i] * nest.stride[0][i];
      index /= nest.size[i];
    }
    const int64_t a_left = nest.size[across] - a;
    const int64_t b_left = nest.size[along] - b;
    transpose_block(source + source_position, nest.stride[1][across], target + target_position, nest.stride[0][along],
                    a_left < kAcross ? a_left : kAcross, b_left < kAlong ? b_left : kAlong);
  });
}

template <class Word>
void copy_words(Team& team, const TensorView& from, const TensorView& to) {
  const Layout* layouts[] = {&to.type.layout, &from.type.layout};
  const LoopNest nest = memory_order_nest(to.shape(), layouts);
  if constexpr (sizeof(Word) == 2 || sizeof(Word) == 4) {
    if (const int axis = transposed_axis(nest); axis >= 0) return transpose<Word>(team, nest, axis, from, to);
  }
  const int64_t in_stride = nest.column_stride(1);
  const int64_t out_stride = nest.column_stride(0);
  for_strips(team, nest, [&](const StripWalk& walk) {
    const Word* source = reinterpret_cast<const Word*>(from.data) + walk.position(1);
    Word* target = reinterpret_cast<Word*>(to.data) + walk.position(0);
    const int64_t columns = walk.columns();
    for (int64_t row = 0; row < walk.rows(); ++row, source += nest.row_stride(1), target += nest.row_stride(0)) {
      if (out_stride != 1) {
        for (int64_t i = 0; i < columns; ++i) target[i * out_stride] = source[i * in_stride];
      } else if (in_stride == 1) {
        std::memcpy(target, source, static_cast<size_t>(columns) * sizeof(Word));
      } else if (in_stride == 0) {
        const Word value = *source;
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) target[i] = value;
      } else if (in_stride == 2) {
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) target[i] = source[2 * i];
      } else {
        for (int64_t i = 0; i < columns; ++i) target[i] = source[i * in_stride];
      }
    }
  });
}

template <class Word>
void fill_words(Team& team, const TensorView& to, const std::byte* value) {
  Word word;
  std::memcpy(&word, value, sizeof(Word));
  const Layout* layouts[] = {&to.type.layout};
  const LoopNest nest = memory_order_nest(to.shape(), layouts);
  for_strips(team, nest, [&](const StripWalk& walk) {
    Word* target = reinterpret_cast<Word*>(to.data) + walk.position(0);
    const int64_t stride = nest.column_stride(0);
    for (int64_t row = 0; row < walk.rows(); ++row, target += nest.row_stride(0)) {
      if (stride == 1) {
#pragma omp simd
        for (int64_t i = 0; i < walk.columns(); ++i) target[i] = word;
      } else {
        for (int64_t i = 0; i < walk.columns(); ++i) target[i * stride] = word;
      }
    }
  });
}

}  // namespace

void copy_elements(Team& team, const TensorView& from, const TensorView& to) {
  switch (size_of(to.type.dtype)) {
    case 1: return copy_words<uint8_t>(team, from, to);
    case 2: return copy_words<uint16_t>(team, from, to);
    case 4: return copy_words<uint32_t>(team, from, to);
    default: return copy_words<uint64_t>(team, from, to);
  }
}

void fill_elements(Team& team, const TensorView& to, double value) {
  alignas(8) std::array<std::byte, 8> element{};
  const TensorView one{element.data(), {to.type.dtype, Layout::contiguous({})}};
  one.store(0, value);
  switch (size_of(to.type.dtype)) {
    case 1: return fill_words<uint8_t>(team, to, element.data());
    case 2: return fill_words<uint16_t>(team, to, element.data());
    case 4: return fill_words<uint32_t>(team, to, element.data());
    default: return fill_words<uint64_t>(team, to, element.data());
  }
}

}  // namespace laptime::LAPTIME_ISA
