// Our product of bfloat16 by the processor's tiles (AMX): squares of 32 x 32 sums, each of 2 x 2 tiles.
//
// A tile product takes 16 cycles and one instruction, so that nearly all of a core is free meanwhile: between the
// products of a square the one before it is stored, and the next sliver of b is packed.
#include <immintrin.h>

#include "backend/cpu/amx.h"
#include "backend/cpu/bfloat16_pairs.h"
#include "backend/cpu/tiles_blocks.h"

namespace laptime::LAPTIME_ISA {
namespace {

constexpr int64_t kTile = 16;                   // rows of a tile; a row is 16 words, each a pair of elements of K
constexpr int64_t kTileWords = kTile * kTile;   // or sums
constexpr int64_t kSquare = 2 * kTile;          // rows and columns of a square
constexpr int64_t kStep = 2 * kTile;            // elements of K in a row of a tile
constexpr int64_t kStepWords = 2 * kTileWords;  // of a square's rows of a, or a sliver of b
static_assert(kSquare == kTileColumns && kTile == kLanes);

// A sliver of b over a chunk of K stays in the first-level cache, a block of a in the second-level one.
constexpr int64_t kLongestChunk = 768;
constexpr int64_t kPanelWords = kLongestChunk / kStep * kStepWords;  // of a square's rows, or of a sliver
using SquareSums = std::array<float, static_cast<size_t>(kSquare) * kSquare>;

// A tile of a: 16 rows from `row` on, 32 elements of K from `k` on. Rows past the end repeat the last, K past the end
// is zeros.
template <class Element>
void pack_rows_tile(const BlockSource& source, int64_t row, int64_t k, float* to) {
  const auto* const from = reinterpret_cast<const Element*>(source.first);
  const int64_t row_stride = source.strides.row;
  const int64_t stride = source.strides.column;
  const auto at = [&](int64_t i) { return from + std::min(row + i, source.rows - 1) * row_stride + k * stride; };
  if (stride == 1 && k + kStep <= source.depth) {
#pragma GCC unroll 16
    for (int64_t i = 0; i < kTile; ++i) store(to + i * kTile, PairWords::along(at(i)));
    return;
  }
  if (row_stride == 1 && row + kTile <= source.readable && k + kStep <= source.depth) {
    std::array<Vector, kTile> words;
    for (int64_t w = 0; w < kTile; ++w)
      words[static_cast<size_t>(w)] = PairWords::across(from + row + (k + 2 * w) * stride, stride);
    transpose(words);
    for (int64_t i = 0; i < kTile; ++i) store(to + i * kTile, words[static_cast<size_t>(i)]);
    return;
  }
  for (int64_t i = 0; i < kTile; ++i) {
    for (int64_t w = 0; w < kTile; ++w) {
      const int64_t left = source.depth - k - 2 * w;
      to[i * kTile + w] = left > 0 ? PairWords::one(at(i) + 2 * w * stride, stride, left) : 0.0F;
    }
  }
}

// A tile of b: 16 columns from `column` of a sliver on, 32 elements of K from `k` on. Columns and K past the end are
// zeros.
template <class Element>
void pack_columns_tile(const SliverSource& source, int64_t column, int64_t k, float* to) {
  const auto [stride, column_stride] = source.strides;
  const auto* const from = reinterpret_cast<const Element*>(source.first) + k * stride + column * column_stride;
  const bool whole = column + kTile <= source.columns && k + kStep <= source.depth;
  if (whole && column_stride == 1) {
#pragma GCC unroll 16
    for (int64_t w = 0; w < kTile; ++w) store(to + w * kSquare, PairWords::across(from + 2 * w * stride, stride));
    return;
  }
  if (whole && stride == 1) {
    std::array<Vector, kTile> words;
    for (int64_t j = 0; j < kTile; ++j) words[static_cast<size_t>(j)] = PairWords::along(from + j * column_stride);
    transpose(words);
    for (int64_t w = 0; w < kTile; ++w) store(to + w * kSquare, words[static_cast<size_t>(w)]);
    return;
  }
  for (int64_t w = 0; w < kTile; ++w) {
    const int64_t left = source.depth - k - 2 * w;
    for (int64_t j = 0; j < kTile; ++j) {
      const bool there = left > 0 && column + j < source.columns;
      to[w * kSquare + j] = there ? PairWords::one(from + 2 * w * stride + j * column_stride, stride, left) : 0.0F;
    }
  }
}

// A sliver of b, packed tile by tile.
class SliverPacker {
 public:
  using PackTile = void (*)(const SliverSource& source, int64_t column, int64_t k, float* to);

  SliverPacker(PackTile pack, const SliverSource& source, float* sliver)
      : pack_(pack), source_(source), to_(sliver), left_(source.columns > 0 ? tiles(source.depth) : 0) {}

  static int64_t tiles(int64_t depth) { return 2 * ceil_div(depth, kStep); }
  int64_t left() const { return left_; }
  void pack(int64_t count) {
    for (; count > 0 && left_ > 0; --count, --left_) {
      pack_(source_, column_, k_, to_ + column_);
      column_ = kTile - column_;
      if (column_ > 0) continue;
      k_ += kStep;
      to_ += kStepWords;
    }
  }

 private:
  PackTile pack_ = nullptr;
  SliverSource source_;
  float* to_ = nullptr;
  int64_t left_ = 0;
  int64_t column_ = 0, k_ = 0;
};

// The sums of a square on their way to c.
class Store {
 public:
  void begin(const float* sums, const TileTarget& to) {
    sums_ = sums;
    to_ = to;
    left_ = to.rows;
  }
  void rows(int64_t count) {
    to_.rows = std::min(count, left_);
    if (to_.rows == 0) return;
    store_sums(sums_, to_);
    sums_ += to_.rows * kSquare;
    to_.advance(to_.rows);
    left_ -= to_.rows;
  }

 private:
  const float* sums_ = nullptr;
  TileTarget to_;
  int64_t left_ = 0;
};

// What a core does between the tile products of a square, step by step.
struct Meanwhile {
  Store* store = nullptr;
  int64_t rows = 0;
  SliverPacker* packer = nullptr;
  int64_t every = 1;  // steps, a tile is packed
  Ahead<true> c;      // of the square itself
  int64_t c_lines = 0;
  Ahead<false>* sliver = nullptr;
  int64_t sliver_lines = 0;
};

// Packed rows of a by a packed sliver of b.
LAPTIME_AMX void multiply_square(const float* a, const float* b, int64_t steps, float* sums, Meanwhile& meanwhile) {
  constexpr int64_t kRow = kTile * int64_t{sizeof(float)};
  finish_stores();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t step = 0; step < steps; ++step, a += kStepWords, b += kStepWords) {
    _tile_stream_loadd(4, a, kRow);  // read once for each sliver: it must not drive b out of the first-level cache
    _tile_loadd(6, b, 2 * kRow);
    _tile_loadd(7, b + kTile, 2 * kRow);
    _tile_dpbf16ps(0, 4, 6);
    _tile_stream_loadd(5, a + kTileWords, kRow);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    meanwhile.c.fetch(meanwhile.c_lines);
    meanwhile.sliver->fetch(meanwhile.sliver_lines);
    meanwhile.store->rows(meanwhile.rows);
    if (step % meanwhile.every == 0) meanwhile.packer->pack(1);
  }
  _tile_stored(0, sums, 2 * kRow);
  _tile_stored(1, sums + kTile, 2 * kRow);
  _tile_stored(2, sums + kTile * kSquare, 2 * kRow);
  _tile_stored(3, sums + kTile * kSquare + kTile, 2 * kRow);
}

struct SquareTask {
  const cpu::Gemm& gemm;
  void (*pack_a)(const BlockSource& source, int64_t row, int64_t k, float* to) = nullptr;
  SliverPacker::PackTile pack_b = nullptr;
  int64_t chunk = 0;
  int64_t squares = 0;  // of a block of a
  int64_t columns = 0;  // of the sums between chunks
};

// One block of c over all of K.
class SquareBlock {
 public:
  SquareBlock(const SquareTask& task, const cpu::GemmBlock& block, std::byte* scratch)
      : task_(task), gemm_(task.gemm), block_(block), squares_(ceil_div(block.rows, kSquare)) {
    sliver_ = reinterpret_cast<float*>(scratch);
    next_sliver_ = sliver_ + kPanelWords;
    panels_ = next_sliver_ + kPanelWords;
    between_ = {panels_ + task.squares * kPanelWords, task.columns};
  }
  static constexpr int64_t kSlivers = 2;  // panels of scratch

  void run() {
    configure_amx();
    int64_t first = 0;
    do {  // even for K = 0, where c is all bias and addend
      add_chunk(first, std::min(task_.chunk, gemm_.shape.k - first));
      first += task_.chunk;
    } while (first < gemm_.shape.k);
    release_amx();
  }

 private:
  SliverPacker packer(int64_t first, int64_t depth, int64_t column, float* sliver) const {
    return {task_.pack_b, sliver_source(gemm_, block_, first, depth, column), sliver};
  }

  void add_chunk(int64_t first, int64_t depth) {
    pack_rows(block_source(gemm_, block_, first, depth));
    packer(first, depth, 0, sliver_).pack(SliverPacker::tiles(depth));
    for (int64_t column = 0; column < block_.columns; column += kSquare) {
      add_sliver(first, depth, column);
      std::swap(sliver_, next_sliver_);
    }
    store_.rows(kSquare);  // a square of the next chunk may add to it
  }

  // All squares side by side where the columns of a have no gaps, so that each cache line is read once.
  void pack_rows(const BlockSource& source) const {
    const int64_t tiles = 2 * squares_;
    const auto pack = [&](int64_t tile, int64_t k) {
      float* const panel = panels_ + tile / 2 * kPanelWords + tile % 2 * kTileWords;
      task_.pack_a(source, tile * kTile, k, panel + k / kStep * kStepWords);
    };
    if (source.strides.row != 1) {
      for (int64_t tile = 0; tile < tiles; ++tile)
        for (int64_t k = 0; k < source.depth; k += kStep) pack(tile, k);
      return;
    }
    for (int64_t k = 0; k < source.depth; k += kStep)
      for (int64_t tile = 0; tile < tiles; ++tile) pack(tile, k);
  }

  void add_sliver(int64_t first, int64_t depth, int64_t column) {
    const int64_t steps = ceil_div(depth, kStep);
    const int64_t least_steps = std::max<int64_t>(1, steps);
    SliverPacker next = packer(first, depth, column + kSquare, next_sliver_);
    Ahead<false> after_next = sliver_ahead(gemm_, block_, first, depth, column + 2 * kSquare);
    Meanwhile meanwhile{
        .store = &store_,
        .rows = ceil_div(kSquare, least_steps),
        .packer = &next,
        .every = std::clamp<int64_t>(least_steps * squares_ / std::max<int64_t>(1, next.left()), 1, least_steps),
        .c = {},
        .c_lines = ceil_div(2 * kSquare, least_steps),
        .sliver = &after_next,
        .sliver_lines = ceil_div(after_next.lines(), least_steps * squares_)};
    TileTarget to = tile_target(gemm_, block_, between_, first, first + depth, column);
    alignas(64) TileBias bias{};
    if (first == 0 && gemm_.bias.present) {
      bias = tile_bias(gemm_, block_.column + column, to.columns);
      to.bias = bias.data();
    }
    for (int64_t i = 0; i < squares_; ++i) {
      to.rows = std::min(kSquare, block_.rows - i * kSquare);
      meanwhile.c = c_ahead(to);
      SquareSums& sums = sums_[static_cast<size_t>(turn_)];
      turn_ = 1 - turn_;
      multiply_square(panels_ + i * kPanelWords, sliver_, steps, sums.data(), meanwhile);
      store_.rows(kSquare);
      store_.begin(sums.data(), to);
      to.advance(to.rows);
    }
    if (to.bias != nullptr) store_.rows(kSquare);  // the bias ends here
    next.pack(next.left());
  }

  const SquareTask& task_;
  const cpu::Gemm& gemm_;
  const cpu::GemmBlock& block_;
  int64_t squares_;
  float* sliver_ = nullptr;
  float* next_sliver_ = nullptr;
  float* panels_ = nullptr;
  SumsBetween between_;
  Store store_;
  int turn_ = 0;  // which of the sums are free
  alignas(64) std::array<SquareSums, 2> sums_;
};

}  // namespace

void amx_gemm(cpu::Team& team, const cpu::Gemm& gemm) {
  const bool a_narrow = gemm.a.dtype == DType::kBFloat16;
  const bool b_narrow = gemm.b.dtype == DType::kBFloat16;
  SquareTask task{.gemm = gemm,
                  .pack_a = a_narrow ? pack_rows_tile<Brain> : pack_rows_tile<Rounded>,
                  .pack_b = b_narrow ? pack_columns_tile<Brain> : pack_columns_tile<Rounded>,
                  .chunk = chunk_of(gemm.shape.k, kLongestChunk, kStep)};
  constexpr int64_t kPanelBytes = kPanelWords * int64_t{sizeof(float)};
  constexpr int64_t kScratch = cpu::Team::kScratchBytes / kPanelBytes;  // panels
  task.squares = panels_of_block(kPanelBytes, kScratch / 2);
  BlockCosts costs{.most_rows = task.squares * kSquare,
                   .most_columns = INT64_MAX / 2,
                   .row_multiple = kSquare,
                   .pack_a = 150,
                   .pack_b = 80,
                   .hand_out = 2e6};
  if (gemm.c_dtype == DType::kBFloat16 && gemm.shape.k > task.chunk) {
    task.columns =
        (kScratch - SquareBlock::kSlivers - task.squares) * kPanelWords / costs.most_rows / kSquare * kSquare;
    costs.most_columns = task.columns;
  }
  const cpu::GemmCut cut = cut_for(gemm.shape, costs, team.size());
  team.parallel_for(cut.count(), [&](int64_t index, int lane) {
    const cpu::GemmBlock block = cut[index];
    SquareBlock(task, block, team.scratch(lane)).run();
  });
}

}  // namespace laptime::LAPTIME_ISA
