// Copies by rows, by tiles for transposes, or element by element; fills.
#include "backend/cpu/vector/moves.h"

#include <cstring>
#include <utility>

namespace laptime::LAPTIME_ISA {
namespace {

using cpu::LoopNest;
using cpu::Team;

// ---- transposes

// Elements on a side: with the longest vectors a row of 4-byte elements is a cache line.
#ifdef __AVX512BW__
constexpr int kTile = 16;
constexpr int kRounds = 4;
#else
constexpr int kTile = 8;
constexpr int kRounds = 3;
#endif

// Elements of a and b in turn, from the first half of each (half 0) or from the second (half 1).
template <int half, class Vector, int... index>
void interleave(const Vector& a, const Vector& b, Vector& to, std::integer_sequence<int, index...> /*of `to`*/) {
  to = __builtin_shufflevector(a, b, (half * kTile / 2 + index / 2 + (index % 2) * kTile)...);
}

// Each round interleaves rows that stand half the tile apart; after log2(kTile) of them rows are columns.
template <class Word>
void transpose_tile(const Word* from, int64_t from_stride, Word* to, int64_t to_stride) {
  using Vector __attribute__((vector_size(kTile * sizeof(Word)))) = Word;
  constexpr auto kIndices = std::make_integer_sequence<int, kTile>();
  Vector rows[kTile];
  for (int i = 0; i < kTile; ++i) std::memcpy(&rows[i], from + i * from_stride, sizeof(Vector));
  for (int round = 0; round < kRounds; ++round) {
    Vector next[kTile];
    for (int i = 0; i < kTile / 2; ++i) {
      interleave<0>(rows[i], rows[i + kTile / 2], next[2 * i], kIndices);
      interleave<1>(rows[i], rows[i + kTile / 2], next[2 * i + 1], kIndices);
    }
    for (int i = 0; i < kTile; ++i) rows[i] = next[i];
  }
  for (int i = 0; i < kTile; ++i) std::memcpy(to + i * to_stride, &rows[i], sizeof(Vector));
}

// to[b][a] = from[a][b]; the other stride of each is 1.
template <class Word>
void transpose_block(const Word* from, int64_t from_stride, Word* to, int64_t to_stride, int64_t a_size,
                     int64_t b_size) {
  for (int64_t a = 0; a < a_size; a += kTile) {
    for (int64_t b = 0; b < b_size; b += kTile) {
      const Word* tile_from = from + a * from_stride + b;
      Word* tile_to = to + b * to_stride + a;
      if (a + kTile <= a_size && b + kTile <= b_size) {
        transpose_tile(tile_from, from_stride, tile_to, to_stride);
        continue;
      }
      for (int64_t i = 0; i < kTile && a + i < a_size; ++i) {
        for (int64_t j = 0; j < kTile && b + j < b_size; ++j)
          tile_to[j * to_stride + i] = tile_from[i * from_stride + j];
      }
    }
  }
}

// The axis along which operand 1 has no gaps, where the innermost axis is not that one; -1: none worth a tile.
int transposed_axis(const LoopNest& nest) {
  if (nest.column_stride(0) != 1 || nest.column_stride(1) <= 1 || nest.columns() < kTile) return -1;
  for (int axis = 0; axis < nest.rank - 1; ++axis) {
    if (nest.stride[1][static_cast<size_t>(axis)] == 1 && nest.size[static_cast<size_t>(axis)] >= kTile) return axis;
  }
  return -1;
}

template <class Word>
void transpose(Team& team, const LoopNest& nest, int axis, const TensorView& from, const TensorView& to) {
  constexpr int64_t kAcross = 64;  // innermost axis of the result
  constexpr int64_t kAlong = 256;  // innermost axis of the source
  const auto along = static_cast<size_t>(axis);
  const auto across = static_cast<size_t>(nest.rank - 1);
  const int64_t across_blocks = (nest.size[across] + kAcross - 1) / kAcross;
  const int64_t along_blocks = (nest.size[along] + kAlong - 1) / kAlong;
  int64_t count = across_blocks * along_blocks;
  for (size_t i = 0; i < across; ++i) count *= i == along ? 1 : nest.size[i];
  const Word* source = reinterpret_cast<const Word*>(from.data) + nest.offset[1];
  Word* target = reinterpret_cast<Word*>(to.data) + nest.offset[0];
  team.parallel_for(count, [&](int64_t index) {
    const int64_t a = index % across_blocks * kAcross;
    index /= across_blocks;
    const int64_t b = index % along_blocks * kAlong;
    index /= along_blocks;
    int64_t at = b + a * nest.stride[1][across];
    int64_t goal = a + b * nest.stride[0][along];
    for (size_t i = across; i-- > 0;) {
      if (i == along) continue;
      at += index % nest.size[i] * nest.stride[1][i];
      goal += index % nest.size[i] * nest.stride[0][i];
      index /= nest.size[i];
    }
    const int64_t a_left = nest.size[across] - a;
    const int64_t b_left = nest.size[along] - b;
    transpose_block(source + at, nest.stride[1][across], target + goal, nest.stride[0][along],
                    a_left < kAcross ? a_left : kAcross, b_left < kAlong ? b_left : kAlong);
  });
}

// ---- rows

template <class Word>
void move_words(Team& team, const TensorView& from, const TensorView& to) {
  const Layout* layouts[] = {&to.type.layout, &from.type.layout};
  const LoopNest nest = cpu::memory_order_nest(to.shape(), layouts);
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
  const LoopNest nest = cpu::memory_order_nest(to.shape(), layouts);
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

void move_elements(Team& team, const TensorView& from, const TensorView& to) {
  switch (size_of(to.type.dtype)) {
    case 1: return move_words<uint8_t>(team, from, to);
    case 2: return move_words<uint16_t>(team, from, to);
    case 4: return move_words<uint32_t>(team, from, to);
    default: return move_words<uint64_t>(team, from, to);
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
