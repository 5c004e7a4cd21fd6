// Our product by the processor's tiles (AMX), of bfloat16 or of float32 as three of them.
//
// A tile product takes 16 cycles and one instruction, so that most of a core is free meanwhile: between the products of
// a square the next sliver of b is packed, and what comes next is fetched.
#include <immintrin.h>

#include "backend/cpu/gemm/amx/amx_multiply.h"
#include "backend/cpu/gemm/amx/amx_pack.h"
#include "backend/cpu/gemm/bfloat16_pairs.h"
#include "backend/cpu/gemm/tiles/tiles_blocks.h"

namespace laptime::LAPTIME_ISA {
namespace {

// A sliver of b over a chunk of K, and a block of a, stay in the second-level cache.
constexpr int64_t kLongestChunk = 768;                               // times the terms
constexpr int64_t kPanelWords = kLongestChunk / kStep * kStepWords;  // of a square's rows, or of a sliver
using SquareSums = std::array<float, static_cast<size_t>(kSquare) * kSquare>;

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

// What a core does between the tile products of a square, each time a little.
struct Meanwhile {
  Store* store = nullptr;
  int64_t rows = 0;
  SliverPacker* packer = nullptr;
  int64_t pieces = 1, every = 1;  // so many pieces are packed, every so many times
  Ahead<true> c;                  // of the next square
  Ahead<false> addend;            // to it
  int64_t c_lines = 0;
  Ahead<false>* sliver = nullptr;  // of b, to be packed soon
  int64_t sliver_lines = 0;
  int64_t until = 1;  // times, pieces are packed again

  void some() {
    c.fetch(c_lines);
    addend.fetch(c_lines);
    sliver->fetch(sliver_lines);
    store->rows(rows);
    if (--until > 0) return;
    until = every;
    packer->pack(pieces);
  }
};

template <int64_t kTerms>
LAPTIME_AMX void multiply_meanwhile(const float* a, const float* b, int64_t steps, const SquarePlace& place,
                                    Meanwhile& meanwhile) {
  multiply_square<kTerms, kTerms>(a, b, steps, place, [&] { meanwhile.some(); });
}

struct SquareTask {
  const cpu::Gemm& gemm;
  PackTiles pack;
  void (*multiply)(const float* a, const float* b, int64_t steps, const SquarePlace& place, Meanwhile& meanwhile);
  int64_t times = 1;  // that it does something meanwhile in a step
  int64_t chunk = 0;
  int64_t squares = 0;  // of a block of a
  int64_t columns = 0;  // of the sums between chunks
};

// What a thread holds while it multiplies: the packed sliver of b, the next one, and sums on their way.
class Lane {
 public:
  static constexpr int64_t kSlivers = 2;  // panels of scratch

  explicit Lane(std::byte* scratch) : sliver_(reinterpret_cast<float*>(scratch)), next_(sliver_ + kPanelWords) {}

  const float* sliver() const { return sliver_; }
  float* next_sliver() const { return next_; }
  void turn() { std::swap(sliver_, next_); }

  Store store;
  SquareSums& free_sums() {
    turn_ = 1 - turn_;
    return sums_[static_cast<size_t>(turn_)];
  }

 private:
  float* sliver_;
  float* next_;
  int turn_ = 0;
  alignas(64) std::array<SquareSums, 2> sums_;
};

// One block of c over all of K.
class SquareBlock {
 public:
  using Share = ChunkShare<SquareBlock>;

  SquareBlock(const SquareTask& task, const cpu::GemmBlock& block, std::byte* scratch)
      : task_(task), gemm_(task.gemm), block_(block), squares_(ceil_div(block.rows, kSquare)), scratch_(scratch) {
    panels_ = reinterpret_cast<float*>(scratch) + Lane::kSlivers * kPanelWords;
    between_ = {panels_ + task.squares * kPanelWords, task.columns};
  }

  void run(Share& share) {
    configure_amx();
    int64_t first = 0;
    do {  // even for K = 0, where c is all bias and addend
      const int64_t depth = std::min(task_.chunk, gemm_.shape.k - first);
      pack_rows(block_source(gemm_, block_, first, depth));
      share.open(this, first, depth, 0, ceil_div(block_.columns, kSquare));
      add_slivers(share, share.take(), scratch_);
      share.close();
      first += task_.chunk;
    } while (first < gemm_.shape.k);
    release_amx();
  }

  // What can be had of the block of another thread; `scratch` is the helper's.
  static void help(Share& share, std::byte* scratch) {
    share.join();
    if (const Share::Sliver sliver = share.take(); sliver.block != nullptr) {
      configure_amx();
      add_slivers(share, sliver, scratch);
      release_amx();
    }
    share.leave();
  }

 private:
  // This one, and then as many as are left to take: all are of one block and one chunk of K.
  static void add_slivers(Share& share, Share::Sliver sliver, std::byte* scratch) {
    if (sliver.block == nullptr) return;
    Lane lane(scratch);
    SliverPacker first = sliver.block->packer(sliver, lane.next_sliver());
    first.pack(first.left());
    while (sliver.block != nullptr) {
      lane.turn();
      const Share::Sliver next = share.take();
      sliver.block->add_sliver(lane, sliver, next);
      sliver = next;
    }
    lane.store.rows(kSquare);
  }

  SliverPacker packer(const Share::Sliver& sliver, float* to) const {
    if (sliver.block == nullptr) return {};
    return {task_.pack, sliver_source(gemm_, block_, sliver.first, sliver.depth, sliver.index * kSquare), to};
  }

  // All tiles side by side where the columns of a have no gaps: a cache line may be of two tiles.
  void pack_rows(const BlockSource& source) const {
    const int64_t tiles = 2 * squares_;
    alignas(64) Turning turning;
    const auto pack = [&](int64_t tile, int64_t k) {
      float* const panel = panels_ + tile / 2 * kPanelWords + tile % 2 * kTileWords;
      for (int64_t piece = 0; piece < task_.pack.pieces; ++piece)
        task_.pack.rows(source, tile * kTile, k, piece, turning.data(),
                        panel + k / kStep * task_.pack.terms * kStepWords);
    };
    if (source.strides.row != 1) {
      for (int64_t tile = 0; tile < tiles; ++tile)
        for (int64_t k = 0; k < source.depth; k += kStep) pack(tile, k);
      return;
    }
    for (int64_t k = 0; k < source.depth; k += kStep)
      for (int64_t tile = 0; tile < tiles; ++tile) pack(tile, k);
  }

  TileTarget target(const Share::Sliver& sliver) const {
    TileTarget to =
        tile_target(gemm_, block_, between_, sliver.first, sliver.first + sliver.depth, sliver.index * kSquare);
    to.rows = std::min(kSquare, block_.rows);
    return to;
  }

  static void fetch(Meanwhile& meanwhile, const TileTarget& to) {
    meanwhile.c = c_ahead(to);
    meanwhile.addend = {};
    if (to.addend != nullptr && to.addend != to.c)
      meanwhile.addend = {to.addend, to.rows, to.columns * int64_t{sizeof(float)},
                          to.addend_pitch * int64_t{sizeof(float)}};
  }

  // Whether tiles can be loaded and stored where the addend, or the bias, and the result stand.
  static bool in_place(const TileTarget& to) {
    return to.c != nullptr && to.rows == kSquare && to.columns == kSquare && to.narrow_addend == nullptr &&
           (to.bias == nullptr || to.addend == nullptr);
  }

  void add_sliver(Lane& lane, const Share::Sliver& sliver, const Share::Sliver& next) {
    const int64_t steps = ceil_div(sliver.depth, kStep);
    SliverPacker next_packer = packer(next, lane.next_sliver());
    Ahead<false> after_next =
        sliver_ahead(gemm_, block_, sliver.first, sliver.depth, (std::max(next.index, sliver.index) + 1) * kSquare);
    const int64_t times = std::max<int64_t>(1, steps * task_.times);  // between the products of a square
    const int64_t all_times = times * squares_;
    Meanwhile meanwhile{.store = &lane.store,
                        .rows = ceil_div(kSquare, times),
                        .packer = &next_packer,
                        .pieces = ceil_div(next_packer.left(), all_times),
                        .every = std::clamp<int64_t>(all_times / std::max<int64_t>(1, next_packer.left()), 1, times),
                        .c = {},
                        .addend = {},
                        .c_lines = ceil_div(2 * kSquare, times),
                        .sliver = &after_next,
                        .sliver_lines = ceil_div(after_next.lines(), all_times)};
    TileTarget to = target(sliver);
    alignas(64) TileBias bias{};
    if (sliver.first == 0 && gemm_.bias.present) {
      bias = tile_bias(gemm_, block_.column + sliver.index * kSquare, to.columns);
      to.bias = bias.data();
    }
    for (int64_t i = 0; i < squares_; ++i) {
      TileTarget next_to = to;
      next_to.advance(to.rows);
      next_to.rows = std::min(kSquare, block_.rows - (i + 1) * kSquare);
      if (i + 1 < squares_) {
        fetch(meanwhile, next_to);
      } else if (next.block != nullptr) {
        fetch(meanwhile, target(next));
      } else {
        fetch(meanwhile, {});
      }
      const float* const a = panels_ + i * kPanelWords;
      if (in_place(to)) {
        const bool has_bias = to.bias != nullptr;
        task_.multiply(a, lane.sliver(), steps,
                       {.from = has_bias ? to.bias : to.addend,
                        .from_pitch = has_bias ? 0 : to.addend_pitch,
                        .to = to.c,
                        .to_pitch = to.pitch},
                       meanwhile);
      } else {
        SquareSums& sums = lane.free_sums();
        task_.multiply(a, lane.sliver(), steps, {.to = sums.data(), .to_pitch = kSquare}, meanwhile);
        lane.store.rows(kSquare);
        lane.store.begin(sums.data(), to);
      }
      to = next_to;
    }
    if (to.bias != nullptr) lane.store.rows(kSquare);  // the bias ends here
    next_packer.pack(next_packer.left());
  }

  const SquareTask& task_;
  const cpu::Gemm& gemm_;
  const cpu::GemmBlock& block_;
  int64_t squares_;
  std::byte* scratch_;
  float* panels_ = nullptr;
  SumsBetween between_;
};

SquareTask task_for(const cpu::Gemm& gemm) {
  const bool a_narrow = gemm.a.dtype == DType::kBFloat16;
  const bool b_narrow = gemm.b.dtype == DType::kBFloat16;
  using Narrow = OneTerm<Brain>;
  using Round = OneTerm<Rounded>;
  SquareTask task{.gemm = gemm,
                  .pack = kPackTiles<ThreeTerms, ThreeTerms>,
                  .multiply = multiply_meanwhile<3>,
                  .times = kTermPairs<3, 3>.size()};
  if (gemm.compute == DType::kBFloat16) {
    task.multiply = multiply_meanwhile<1>;
    task.times = kTermPairs<1, 1>.size();
    task.pack = a_narrow ? (b_narrow ? kPackTiles<Narrow, Narrow> : kPackTiles<Narrow, Round>)
                         : (b_narrow ? kPackTiles<Round, Narrow> : kPackTiles<Round, Round>);
  }
  task.chunk = chunk_of(gemm.shape.k, kLongestChunk / task.pack.terms, kStep);
  return task;
}

}  // namespace

void amx_gemm(cpu::Team& team, const cpu::Gemm& gemm) {
  SquareTask task = task_for(gemm);
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
    task.columns = (kScratch - Lane::kSlivers - task.squares) * kPanelWords / costs.most_rows / kSquare * kSquare;
    costs.most_columns = task.columns;
  }
  multiply_blocks<SquareBlock>(team, task, cut_for(gemm.shape, costs, team.size()));
}

}  // namespace laptime::LAPTIME_ISA
