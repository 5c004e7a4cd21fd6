// c = a b by blocks: a block of a is packed once for each chunk of K, slivers of b just before they are used, and tiles
// of c are summed in registers (Goto and van de Geijn 2008, with the thread as the owner of the packed block of a).
#include "backend/cpu/tiles_gemm.h"

#include <algorithm>

#include "backend/cpu/vectors.h"

namespace laptime::LAPTIME_ISA {
namespace {

// A tile of sums, its columns of b and one element of a fill the registers.
constexpr int kTileVectors = 2;
constexpr int kTileColumns = kTileVectors * kLanes;
constexpr int kTileRows = kRegisters == 32 ? 14 : kLanes == 8 ? 6 : 4;

// Longest chunk of K. A packed row is a little longer, so that rows do not fall on the same cache sets.
constexpr int64_t kDepth = 384;
constexpr int64_t kPitch = kDepth + 16;
constexpr int64_t kPanel = kTileRows * kPitch;  // floats of kTileRows packed rows

// K is split by K alone.
struct DepthCut {
  int64_t chunk = 0;
  explicit DepthCut(int64_t depth) {
    const int64_t chunks = (depth + kDepth - 1) / kDepth;
    chunk = ((depth + chunks - 1) / chunks + 15) / 16 * 16;
  }
};

struct Strides {
  int64_t row = 0, column = 0;
};

// kTileRows rows of a: element k of row i at i * kPitch + k. Rows past the end are zeros.
template <class Element>
void pack_rows(const Element* a, Strides strides, int64_t rows, int64_t depth, float* panel) {
  for (int64_t i = 0; i < kTileRows; ++i) {
    const Element* const from = a + i * strides.row;
    float* const to = panel + i * kPitch;
    if (i >= rows) {
      std::fill_n(to, depth, 0.0F);
    } else if (strides.column == 1) {
      for (int64_t k = 0; k < depth; ++k) to[k] = widened(from[k]);
    } else {
      for (int64_t k = 0; k < depth; ++k) to[k] = widened(from[k * strides.column]);
    }
  }
}

// kTileRows rows of a transposed a: element k of row i at i + k * kTileRows. Several panels side by side, so that each
// cache line of a is read once: the lines of one column may all fall on one cache set.
template <class Element>
void pack_columns(const Element* a, int64_t column_stride, int64_t rows, int64_t depth, float* panels) {
  for (int64_t k = 0; k < depth; ++k) {
    const Element* from = a + k * column_stride;
    float* to = panels + k * kTileRows;
    int64_t left = rows;
    for (; left >= kTileRows; left -= kTileRows, from += kTileRows, to += kPanel) {
      for (int64_t i = 0; i < kTileRows; ++i) to[i] = widened(from[i]);
    }
    for (int64_t i = 0; left > 0 && i < kTileRows; ++i) to[i] = i < left ? widened(from[i]) : 0.0F;
  }
}

// A block of a, either way.
template <class Element>
void pack_block(const Element* a, Strides strides, int64_t rows, int64_t depth, bool transposed, float* panels) {
  const int64_t step = transposed ? 8 * kTileRows : kTileRows;
  for (int64_t row = 0; row < rows; row += step) {
    const int64_t count = std::min(step, rows - row);
    float* const to = panels + row / kTileRows * kPanel;
    if (transposed) {
      pack_columns(a + row, strides.column, count, depth, to);
    } else {
      pack_rows(a + row * strides.row, strides, count, depth, to);
    }
  }
}

// A square of b, columns of which stand without gaps, into rows of the sliver.
template <class Element>
void pack_transposed_square(const Element* b, int64_t column_stride, float* to) {
  std::array<Vector, kLanes> square;
  for (int j = 0; j < kLanes; ++j) square[static_cast<size_t>(j)] = load(b + j * column_stride);
  transpose(square);
  for (int k = 0; k < kLanes; ++k) store(to + int64_t{k} * kTileColumns, square[static_cast<size_t>(k)]);
}

// kTileColumns columns of b: element (k, j) at k * kTileColumns + j; columns past the end are zeros.
template <class Element>
void pack_sliver(const Element* b, Strides strides, int64_t depth, int64_t columns, float* sliver) {
  const bool full = columns == kTileColumns;
  int64_t done = 0;  // rows packed
  if (full && strides.column == 1) {
    for (; done < depth; ++done) {
      for (int64_t j = 0; j < kTileColumns; ++j) sliver[done * kTileColumns + j] = widened(b[done * strides.row + j]);
    }
  } else if (full && strides.row == 1) {
    for (; done + kLanes <= depth; done += kLanes) {
      for (int64_t j = 0; j < kTileColumns; j += kLanes) {
        pack_transposed_square(b + done + j * strides.column, strides.column, sliver + done * kTileColumns + j);
      }
    }
  }
  for (; done < depth; ++done) {
    float* const to = sliver + done * kTileColumns;
    for (int64_t j = 0; j < columns; ++j) to[j] = widened(b[done * strides.row + j * strides.column]);
    std::fill(to + columns, to + kTileColumns, 0.0F);
  }
}

// Where a tile of sums goes.
struct TileTarget {
  float* c = nullptr;
  int64_t pitch = 0;
  int64_t rows = 0, columns = 0;
  bool accumulate = false;
  const float* bias = nullptr;  // kTileColumns numbers, added where the tile does not accumulate
};

using Tile = std::array<std::array<Vector, kTileVectors>, kTileRows>;

void store_full(const Tile& sums, const TileTarget& to) {
  for (size_t i = 0; i < kTileRows; ++i) {
    float* const row = to.c + static_cast<int64_t>(i) * to.pitch;
    for (size_t v = 0; v < kTileVectors; ++v) {
      float* const at = row + v * kLanes;
      const Vector before = load(to.accumulate ? at : to.bias + v * kLanes);
      store(at, before + sums[i][v]);
    }
  }
}

void store_part(const Tile& sums, const TileTarget& to) {
  for (int64_t i = 0; i < to.rows; ++i) {
    alignas(64) std::array<float, kTileColumns> row;
    for (size_t v = 0; v < kTileVectors; ++v) store(row.data() + v * kLanes, sums[static_cast<size_t>(i)][v]);
    float* const at = to.c + i * to.pitch;
    for (int64_t j = 0; j < to.columns; ++j) at[j] = (to.accumulate ? at[j] : to.bias[j]) + row[static_cast<size_t>(j)];
  }
}

// One tile: kTileRows packed rows of a by one sliver of b.
template <int64_t kRowStep, int64_t kDepthStep>
void multiply_tile(const float* a, const float* b, int64_t depth, const TileTarget& to) {
  Tile sums{};
  for (int64_t i = 0; i < to.rows; ++i) {  // c is wanted when the sums are done
    __builtin_prefetch(to.c + i * to.pitch, 1);
    __builtin_prefetch(to.c + i * to.pitch + kTileColumns - 1, 1);
  }
  for (int64_t k = 0; k < depth; ++k, a += kDepthStep, b += kTileColumns) {
    std::array<Vector, kTileVectors> row;
#pragma GCC unroll 2
    for (size_t v = 0; v < kTileVectors; ++v) row[v] = load(b + v * kLanes);
#pragma GCC unroll 16
    for (size_t i = 0; i < kTileRows; ++i) {
      const float factor = a[static_cast<int64_t>(i) * kRowStep];
#pragma GCC unroll 2
      for (size_t v = 0; v < kTileVectors; ++v) sums[i][v] += factor * row[v];
    }
  }
  if (to.rows == kTileRows && to.columns == kTileColumns) {
    store_full(sums, to);
  } else {
    store_part(sums, to);
  }
}

// The packed operands of a thread, and for bfloat16 its block of c in float32.
struct Scratch {
  float* sliver = nullptr;
  float* c = nullptr;
  float* panels = nullptr;
};

template <class Element>
constexpr cpu::GemmCut::Limits kLimits{
    .rows = 336, .columns = 768, .row_multiple = kTileRows, .column_multiple = kTileColumns};
template <>
constexpr cpu::GemmCut::Limits kLimits<Brain>{
    .rows = 252, .columns = 512, .row_multiple = kTileRows, .column_multiple = kTileColumns};

template <class Element>
constexpr int64_t kWideResult =
    std::is_same_v<Element, float> ? 0 : kLimits<Element>.rows* kLimits<Element>.columns;  // floats

template <class Element>
Scratch scratch_of(std::byte* bytes) {
  constexpr int64_t kSliver = kDepth * kTileColumns;
  constexpr int64_t kRows = (kLimits<Element>.rows + kTileRows - 1) / kTileRows * kTileRows;
  static_assert((kSliver + kWideResult<Element> + kRows * kPitch) * 4 <= cpu::Team::kScratchBytes);
  auto* const floats = reinterpret_cast<float*>(bytes);
  return {floats, floats + kSliver, floats + kSliver + kWideResult<Element>};
}

// One block of c over all of K.
template <class Element>
class BlockProduct {
 public:
  BlockProduct(const cpu::Gemm& gemm, const cpu::GemmBlock& block, std::byte* scratch)
      : shape_(gemm.shape),
        block_(block),
        scratch_(scratch_of<Element>(scratch)),
        a_(reinterpret_cast<const Element*>(gemm.a) + position_in_a(shape_, block)),
        b_(reinterpret_cast<const Element*>(gemm.b) + position_in_b(shape_, block)),
        bias_(gemm.bias == nullptr ? nullptr : reinterpret_cast<const Element*>(gemm.bias) + block.column),
        result_(reinterpret_cast<Element*>(gemm.c) + position_in_c(shape_, block)) {
    if constexpr (std::is_same_v<Element, float>) {
      c_ = result_;
      pitch_ = shape_.n;
    } else {
      c_ = scratch_.c;
      pitch_ = kLimits<Element>.columns;
    }
  }

  void run() {
    const int64_t chunk = DepthCut(shape_.k).chunk;
    for (int64_t k = 0; k < shape_.k; k += chunk) add_chunk(k, std::min(chunk, shape_.k - k));
    if constexpr (!std::is_same_v<Element, float>) {
      for (int64_t i = 0; i < block_.rows; ++i) {
        for (int64_t j = 0; j < block_.columns; ++j) result_[i * shape_.n + j] = narrowed<Element>(c_[i * pitch_ + j]);
      }
    }
  }

 private:
  void add_chunk(int64_t first, int64_t depth) {
    const bool transposed = shape_.a.row_stride == 1 && shape_.a.column_stride != 1;
    pack_block(a_ + first * shape_.a.column_stride, {shape_.a.row_stride, shape_.a.column_stride}, block_.rows, depth,
               transposed, scratch_.panels);
    for (int64_t column = 0; column < block_.columns; column += kTileColumns) {
      const int64_t columns = std::min<int64_t>(kTileColumns, block_.columns - column);
      pack_sliver(b_ + first * shape_.b.row_stride + column * shape_.b.column_stride,
                  {shape_.b.row_stride, shape_.b.column_stride}, depth, columns, scratch_.sliver);
      alignas(64) std::array<float, kTileColumns> bias{};
      for (int64_t j = 0; bias_ != nullptr && j < columns; ++j)
        bias[static_cast<size_t>(j)] = widened(bias_[column + j]);
      for (int64_t row = 0; row < block_.rows; row += kTileRows) {
        const float* const panel = scratch_.panels + row / kTileRows * kPanel;
        const TileTarget to{c_ + row * pitch_ + column,
                            pitch_,
                            std::min<int64_t>(kTileRows, block_.rows - row),
                            columns,
                            first > 0,
                            bias.data()};
        if (transposed) {
          multiply_tile<1, kTileRows>(panel, scratch_.sliver, depth, to);
        } else {
          multiply_tile<kPitch, 1>(panel, scratch_.sliver, depth, to);
        }
      }
    }
  }

  const cpu::GemmShape& shape_;
  const cpu::GemmBlock& block_;
  Scratch scratch_;
  const Element* a_;
  const Element* b_;
  const Element* bias_;
  Element* result_;
  float* c_ = nullptr;
  int64_t pitch_ = 0;
};

template <class Element>
void multiply(cpu::Team& team, const cpu::Gemm& gemm) {
  const cpu::GemmCut cut(gemm.shape, kLimits<Element>);
  team.parallel_for(cut.count(), [&](int64_t index, int lane) {
    const cpu::GemmBlock block = cut[index];
    BlockProduct<Element>(gemm, block, team.scratch(lane)).run();
  });
}

}  // namespace

void tiles_gemm(cpu::Team& team, const cpu::Gemm& gemm) {
  gemm.dtype == DType::kBFloat16 ? multiply<Brain>(team, gemm) : multiply<float>(team, gemm);
}

}  // namespace laptime::LAPTIME_ISA
