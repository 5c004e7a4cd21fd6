// c = a b by blocks: a thread packs a block of a for each chunk of K, slivers of b just before they are used, and sums
// tiles of c in registers (Goto and van de Geijn 2008, with the thread as the owner of the packed block of a).
#pragma once

#include <algorithm>

#include "backend/cpu/cores.h"
#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/gemm/tiles/tiles_multiply.h"
#include "backend/cpu/gemm/tiles/tiles_share.h"
#include "backend/cpu/team.h"

namespace laptime::LAPTIME_ISA {

// K is split by K alone, which fixes every bit of the result: into equal chunks, rounded up to a multiple of
// `multiple`.
inline int64_t chunk_of(int64_t depth, int64_t longest, int64_t multiple) {
  const int64_t chunks = std::max<int64_t>(1, ceil_div(depth, longest));
  return align_up(ceil_div(depth, chunks), multiple);
}
inline int64_t chunk_of(int64_t depth) { return chunk_of(depth, kDepth, 16); }

// Panels of a block of a: in less than half of a core's second-level cache.
inline int64_t panels_of_block(int64_t panel_bytes, int64_t most) {
  return std::clamp<int64_t>(cpu::second_level_cache() * 42 / 100 / panel_bytes, 4, most);
}

// How the scratch of a thread is used: a sliver of b, the block of a, and, where c is bfloat16 and K has several
// chunks, the block's sums.
template <class Words>
struct ScratchCut {
  static constexpr int64_t kSliver = kWords<Words> * kTileColumns;
  static constexpr int64_t kFloats = cpu::Team::kScratchBytes / 4;

  int64_t tiles = 0;    // of the block of a
  int64_t columns = 0;  // of the block's sums
  explicit ScratchCut(bool sums) {
    constexpr int64_t kMostTiles = 40;
    tiles = panels_of_block(4 * kPanel<Words>, kMostTiles);
    columns = INT64_MAX / 2;
    if (sums) columns = (kFloats - kSliver - tiles * kPanel<Words>) / (tiles * kTileRows) / kTileColumns * kTileColumns;
  }
};

// What a block may be, and what it costs beside its products.
struct BlockCosts {
  int64_t most_rows = 0, most_columns = 0;
  int64_t row_multiple = 2;
  double pack_a = 24, pack_b = 12;  // in columns and rows of products
  double hand_out = 3e5;            // in products
};

// Into which blocks c is cut for a number of threads. No bit depends on it, K being cut by K alone: so here, unlike
// elsewhere, it may be cut for the threads that are there. Packing a costs the more the narrower a block is, packing b
// the more the lower it is; a thread without a block waits.
inline cpu::GemmCut cut_for(const cpu::GemmShape& shape, const BlockCosts& costs, int threads) {
  constexpr double kTail = 0.05;  // of a block: what threads wait for one another
  const int64_t least_row_blocks = ceil_div(shape.m, costs.most_rows);
  const int64_t least_column_blocks = ceil_div(shape.n, costs.most_columns);
  double best = 0;
  int64_t best_rows = 0;
  int64_t best_columns = 0;
  const auto consider = [&](int64_t row_blocks, int64_t column_blocks) {
    const int64_t rows = align_up(ceil_div(shape.m, row_blocks), costs.row_multiple);
    const int64_t columns = align_up(ceil_div(shape.n, column_blocks), kTileColumns);
    const int64_t count = shape.batches * ceil_div(shape.m, rows) * ceil_div(shape.n, columns);
    const double block =
        static_cast<double>(rows * columns) *
            (1 + costs.pack_a / static_cast<double>(columns) + costs.pack_b / static_cast<double>(rows)) *
            static_cast<double>(shape.k) +
        costs.hand_out;
    const double time = (static_cast<double>(ceil_div(count, threads)) + kTail) * block;
    if (best_rows > 0 && time >= best) return;
    best = time;
    best_rows = rows;
    best_columns = columns;
  };
  const int64_t most_row_blocks = std::min(least_row_blocks + threads, ceil_div(shape.m, costs.row_multiple));
  for (int64_t row_blocks = least_row_blocks; row_blocks <= std::max(most_row_blocks, least_row_blocks); ++row_blocks) {
    consider(row_blocks, least_column_blocks);
    for (int64_t rounds = 1; rounds <= 4; ++rounds) {
      const int64_t column_blocks = ceil_div(rounds * threads, shape.batches * row_blocks);
      if (column_blocks > least_column_blocks && column_blocks <= ceil_div(shape.n, kTileColumns))
        consider(row_blocks, column_blocks);
    }
  }
  return {
      shape,
      {.rows = best_rows, .columns = best_columns, .row_multiple = costs.row_multiple, .column_multiple = kTileColumns},
      1};
}

// All of b packed once, before the products: sliver by sliver, each over all of K.
template <class Words>
struct PackedB {
  float* words = nullptr;  // null: each block packs what it needs
  int64_t sliver = 0;      // words of one

  static PackedB in(float* words, const cpu::GemmShape& shape) {
    return {words, ceil_div(shape.k, Words::kSpan) * kTileColumns};
  }
  float* at(int64_t column, int64_t first) const {
    return words + column / kTileColumns * sliver + first / Words::kSpan * kTileColumns;
  }
  static int64_t bytes(const cpu::GemmShape& shape) {
    return (Size(ceil_div(shape.n, kTileColumns)) * in(nullptr, shape).sliver * static_cast<int64_t>(sizeof(float)))
        .value();
  }
};

// A product's operands as the code below reads them.
template <class Words>
struct Task {
  const cpu::Gemm& gemm;
  ScratchCut<Words> scratch;
  PackBlock pack_a;
  PackSliver pack_b;
  int64_t chunk = 0;
  PackedB<Words> packed_b;
};

// A sliver of b over `depth` elements of K, as it lies in memory.
inline SliverSource sliver_source(const cpu::Gemm& gemm, const cpu::GemmBlock& block, int64_t first, int64_t depth,
                                  int64_t column) {
  const cpu::MatrixLayout& b = gemm.shape.b;
  const int64_t position = position_in_b(gemm.shape, block) + first * b.row_stride + column * b.column_stride;
  return {.first = gemm.b.data + position * size_of(gemm.b.dtype),
          .strides = {b.row_stride, b.column_stride},
          .depth = depth,
          .columns = std::min<int64_t>(kTileColumns, block.columns - column)};
}

// A block of a over `depth` elements of K, as it lies in memory.
inline BlockSource block_source(const cpu::Gemm& gemm, const cpu::GemmBlock& block, int64_t first, int64_t depth) {
  const cpu::MatrixLayout& a = gemm.shape.a;
  const int64_t position = position_in_a(gemm.shape, block) + first * a.column_stride;
  return {.first = gemm.a.data + position * size_of(gemm.a.dtype),
          .strides = {a.row_stride, a.column_stride},
          .rows = block.rows,
          .depth = depth,
          .readable = gemm.shape.m - block.row};
}

// The bytes of a sliver to be packed soon; none where it has gaps in both directions, or no column.
inline Ahead<false> sliver_ahead(const cpu::Gemm& gemm, const cpu::GemmBlock& block, int64_t first, int64_t depth,
                                 int64_t column) {
  const SliverSource source = sliver_source(gemm, block, first, depth, column);
  const int64_t size = size_of(gemm.b.dtype);
  if (source.columns <= 0) return {};
  if (source.strides.column == 1) return {source.first, source.depth, source.columns * size, source.strides.row * size};
  if (source.strides.row == 1) return {source.first, source.columns, source.depth * size, source.strides.column * size};
  return {};
}

// One block of c over all of K.
template <class Words>
class BlockProduct {
 public:
  using Share = ChunkShare<BlockProduct>;

  BlockProduct(const Task<Words>& task, const cpu::GemmBlock& block, std::byte* scratch)
      : task_(task), gemm_(task.gemm), block_(block), tiles_(block.rows) {
    sliver_ = reinterpret_cast<float*>(scratch);
    panels_ = sliver_ + ScratchCut<Words>::kSliver;
    sums_ = panels_ + task.scratch.tiles * kPanel<Words>;
  }

  void run(Share& share) {
    int64_t first = 0;
    do {  // even for K = 0, where c is all bias and addend
      add_chunk(first, std::min(task_.chunk, gemm_.shape.k - first), share);
      first += task_.chunk;
    } while (first < gemm_.shape.k);
  }

  // What can be had of the block of another thread; `scratch` is the helper's.
  static void help(Share& share, std::byte* scratch) {
    share.join();
    for (typename Share::Sliver sliver = share.take(); sliver.block != nullptr; sliver = share.take()) {
      Ahead<false> none;
      sliver.block->add_sliver(sliver.first, sliver.depth, sliver.index * kTileColumns,
                               {.words = reinterpret_cast<float*>(scratch), .block_ahead = &none});
    }
    share.leave();
  }

 private:
  // Where a sliver of b is packed, whether tiles of a are packed on the way, and what is fetched of a for later.
  struct SliverRun {
    float* words = nullptr;
    bool packs_a = false;
    Ahead<false>* block_ahead = nullptr;
  };

  void add_chunk(int64_t first, int64_t depth, Share& share) {
    const cpu::GemmShape& shape = gemm_.shape;
    source_ = block_source(first, depth);
    const bool by_tiles = shape.a.column_stride == 1;  // tile by tile, together with the first sliver's products
    if (!by_tiles) {
      task_.pack_a.all(source_, tiles_, panels_);
      const int64_t next = first + depth;
      ahead_of_a_ =
          next < shape.k ? columns_ahead(block_source(next, std::min(task_.chunk, shape.k - next))) : Ahead<false>();
    }
    SliverRun run{.words = sliver_, .packs_a = by_tiles, .block_ahead = &ahead_of_a_};
    add_sliver(first, depth, 0, run);
    run.packs_a = false;
    share.open(this, first, depth, 1, ceil_div(block_.columns, kTileColumns));
    for (typename Share::Sliver sliver = share.take(); sliver.block != nullptr; sliver = share.take())
      add_sliver(first, depth, sliver.index * kTileColumns, run);
    share.close();
  }

  BlockSource block_source(int64_t first, int64_t depth) const {
    return LAPTIME_ISA::block_source(gemm_, block_, first, depth);
  }

  // The bytes of a sliver, to be fetched before it is packed or, where it is already, read.
  Ahead<false> sliver_ahead(int64_t first, int64_t depth, int64_t column) const {
    if (task_.packed_b.words == nullptr || column >= block_.columns)
      return LAPTIME_ISA::sliver_ahead(gemm_, block_, first, depth, column);
    const int64_t words = ceil_div(depth, Words::kSpan) * kTileColumns;
    return {task_.packed_b.at(block_.column + column, first), 1, words * int64_t{sizeof(float)}, 0};
  }

  // The bytes of a block of a to be packed at once.
  Ahead<false> columns_ahead(const BlockSource& source) const {
    const int64_t size = size_of(gemm_.a.dtype);
    if (source.strides.row != 1) return {};
    return {source.first, source.depth, source.rows * size, source.strides.column * size};
  }
  // The bytes of a tile's rows of a.
  Ahead<false> rows_ahead(int64_t tile) const {
    const int64_t size = size_of(gemm_.a.dtype);
    if (tile >= tiles_.count()) return {};
    return {source_.first + tiles_.first(tile) * source_.strides.row * size,
            std::min(tiles_.rows(tile), source_.rows - tiles_.first(tile)), source_.depth * size,
            source_.strides.row * size};
  }

  void add_sliver(int64_t first, int64_t depth, int64_t column, const SliverRun& run) {
    const SliverSource source = sliver_source(gemm_, block_, first, depth, column);
    const bool packed = task_.packed_b.words != nullptr;
    const float* const words_of_b = packed ? task_.packed_b.at(block_.column + column, first) : run.words;
    const bool first_tile_packs = !packed && source.columns == kTileColumns && source.strides.column == 1 &&
                                  depth % Words::kSpan == 0 && tiles_.rows(0) == kTileRows;
    if (!packed && !first_tile_packs) task_.pack_b.all(source, run.words);
    const int64_t words = ceil_div(depth, Words::kSpan);
    const int64_t stretches = std::max<int64_t>(1, words / kStretch);
    const int64_t slivers = ceil_div(block_.columns - column, kTileColumns);  // with this one
    Ahead<false> next = sliver_ahead(first, depth, column + kTileColumns);
    constexpr int64_t kMostLines = 4;  // of a stretch
    TileAhead ahead{.sliver = &next,
                    .sliver_lines = std::min(kMostLines, ceil_div(next.lines(), stretches * tiles_.count())),
                    .block = run.block_ahead,
                    .c_lines = ceil_div(int64_t{3} * kTileRows, stretches)};
    if (run.packs_a) {
      ahead.block_lines = ceil_div(rows_ahead(0).lines() + kTileRows, stretches);
    } else if (constexpr int64_t kLate = 6; slivers <= kLate) {  // earlier it would drive out this block of a
      ahead.block_lines =
          std::min(kMostLines, ceil_div(run.block_ahead->lines(), stretches * tiles_.count() * slivers));
    }
    TileTarget to = tile_target(gemm_, block_, {sums_, task_.scratch.columns}, first, first + depth, column);
    alignas(64) TileBias bias{};
    if (first == 0 && gemm_.bias.present) {
      bias = tile_bias(gemm_, block_.column + column, to.columns);
      to.bias = bias.data();
    }
    for (int64_t tile = 0; tile < tiles_.count(); ++tile) {
      const int64_t rows = tiles_.rows(tile);
      to.rows = std::min(rows, block_.rows - tiles_.first(tile));
      float* const panel = panels_ + tile * kPanel<Words>;
      if (run.packs_a) {
        task_.pack_a.tile(source_, tiles_, tile, panel);
        *run.block_ahead = rows_ahead(tile + 1);
      }
      if (tile == 0 && first_tile_packs) {
        task_.pack_b.multiply(panel, source, run.words, to, ahead);
      } else {
        tile_of<Words>(rows)(panel, PackedSliver(words_of_b), words, to, ahead);
      }
      to.advance(to.rows);
    }
  }

  const Task<Words>& task_;
  const cpu::Gemm& gemm_;
  const cpu::GemmBlock& block_;
  TileRows tiles_;
  BlockSource source_;
  Ahead<false> ahead_of_a_;
  float* sliver_ = nullptr;
  float* panels_ = nullptr;
  float* sums_ = nullptr;
};

template <class Words>
ScratchCut<Words> scratch_cut_of(const cpu::Gemm& gemm) {
  return ScratchCut<Words>(gemm.c_dtype == DType::kBFloat16 && gemm.shape.k > chunk_of(gemm.shape.k));
}

// Bytes of b packed before the products; 0 where each part of it is packed no more than once anyway.
template <class Words>
int64_t packed_b_bytes(const cpu::Gemm& gemm) {
  const bool again = gemm.shape.batches == 1 && gemm.shape.m > scratch_cut_of<Words>(gemm).tiles * kTileRows;
  return again ? PackedB<Words>::bytes(gemm.shape) : 0;
}

template <class Words>
void pack_all_of_b(cpu::Team& team, const Task<Words>& task) {
  const cpu::GemmShape& shape = task.gemm.shape;
  const cpu::GemmBlock whole{.rows = shape.m, .columns = shape.n};
  team.parallel_for(ceil_div(shape.n, kTileColumns), [&](int64_t index) {
    const int64_t column = index * kTileColumns;
    task.pack_b.all(sliver_source(task.gemm, whole, 0, shape.k, column), task.packed_b.at(column, 0));
  });
}

template <class Words>
void multiply(cpu::Team& team, const cpu::Gemm& gemm, bool packs_first, const PackBlock& pack_a,
              const PackSliver& pack_b) {
  Task<Words> task{.gemm = gemm,
                   .scratch = scratch_cut_of<Words>(gemm),
                   .pack_a = pack_a,
                   .pack_b = pack_b,
                   .chunk = chunk_of(gemm.shape.k),
                   .packed_b = {}};
  if (packs_first) {
    task.packed_b = PackedB<Words>::in(reinterpret_cast<float*>(gemm.workspace), gemm.shape);
    pack_all_of_b(team, task);
  }
  const cpu::GemmCut cut = cut_for(
      gemm.shape, {.most_rows = task.scratch.tiles * kTileRows, .most_columns = task.scratch.columns}, team.size());
  multiply_blocks<BlockProduct<Words>>(team, task, cut);
}

// By the types of the factors.
template <class Words, class A, class B>
void multiply_as(cpu::Team& team, const cpu::Gemm& gemm, bool packs_first) {
  multiply<Words>(team, gemm, packs_first, kPackBlock<Words, A>, kPackSliver<Words, B>);
}
template <class Words, class WideElement>
void multiply_from(cpu::Team& team, const cpu::Gemm& gemm, bool packs_first) {
  const bool a_narrow = gemm.a.dtype == DType::kBFloat16;
  const bool b_narrow = gemm.b.dtype == DType::kBFloat16;
  if (a_narrow)
    return b_narrow ? multiply_as<Words, Brain, Brain>(team, gemm, packs_first)
                    : multiply_as<Words, Brain, WideElement>(team, gemm, packs_first);
  return b_narrow ? multiply_as<Words, WideElement, Brain>(team, gemm, packs_first)
                  : multiply_as<Words, WideElement, WideElement>(team, gemm, packs_first);
}

}  // namespace laptime::LAPTIME_ISA
