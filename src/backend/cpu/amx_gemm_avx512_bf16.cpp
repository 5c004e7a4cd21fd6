// Our product by the processor's tiles (AMX), of bfloat16 or of float32 as three of them: squares of 32 x 32 sums, each of
// 2 x 2 tiles.
//
// A tile product takes 16 cycles and one instruction, so that most of a core is free meanwhile: between the products of
// a square the next sliver of b is packed, and what comes next is fetched. float32 as the sum of three bfloat16, and
// which of the nine products count: Henry, Tang and Heinecke 2019.
#include <immintrin.h>

#include "backend/cpu/amx.h"
#include "backend/cpu/amx_pack.h"
#include "backend/cpu/bfloat16_pairs.h"
#include "backend/cpu/tiles_blocks.h"

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

// What a core does between the tile products of a square, in every step.
struct Meanwhile {
  Store* store = nullptr;
  int64_t rows = 0;
  SliverPacker* packer = nullptr;
  int64_t every = 1;     // steps, a tile is packed
  Ahead<true> c;         // of the next square
  Ahead<false> addend;   // to it
  int64_t c_lines = 0;
  Ahead<false>* sliver = nullptr;  // of b, to be packed soon
  int64_t sliver_lines = 0;
};

// Where the sums of a square start from, zeros without it, and where they go, in floats.
struct SquarePlace {
  const float* from = nullptr;
  int64_t from_pitch = 0;
  float* to = nullptr;
  int64_t to_pitch = 0;
};

// Which terms of a and b are multiplied, small products first. What is left out of nine is below 2^-24 of a product of
// two float32: less than float32 rounds when it adds it.
struct TermPair {
  int a = 0, b = 0;
};
template <int64_t kTerms>
constexpr auto kTermPairs = std::array{TermPair{0, 0}};
template <>
constexpr auto kTermPairs<3> = std::array{TermPair{2, 0}, TermPair{1, 0}, TermPair{1, 1},
                                          TermPair{0, 1}, TermPair{0, 2}, TermPair{0, 0}};
static_assert(kTermPairs<3>.size() == cpu::kSplitProducts);

// The products of one step, pair by pair; between(i) after pair i.
template <int64_t kTerms, size_t kPair = 0, class Between>
LAPTIME_AMX [[gnu::always_inline]] inline void multiply_step(const float* a, const float* b, const Between& between) {
  constexpr int64_t kRow = kTile * int64_t{sizeof(float)};
  constexpr auto kPairs = kTermPairs<kTerms>;
  constexpr TermPair kNow = kPairs[kPair];
  constexpr bool kNewA = kPair == 0 || kPairs[kPair - (kPair > 0)].a != kNow.a;
  constexpr bool kNewB = kPair == 0 || kPairs[kPair - (kPair > 0)].b != kNow.b;
  const float* const a_words = a + kNow.a * kStepWords;
  const float* const b_words = b + kNow.b * kStepWords;
  // a is read once for each sliver: it must not drive b out of the first-level cache
  if constexpr (kNewA) _tile_stream_loadd(4, a_words, kRow);
  if constexpr (kNewB) _tile_loadd(6, b_words, 2 * kRow);
  if constexpr (kNewB) _tile_loadd(7, b_words + kTile, 2 * kRow);
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (kNewA) _tile_stream_loadd(5, a_words + kTileWords, kRow);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
  between(kPair);
  if constexpr (kPair + 1 < kPairs.size()) multiply_step<kTerms, kPair + 1>(a, b, between);
}

// The 512-bit units sleep after 0.8 us without use, and a tile store then waits 0.25 us for them.
inline void keep_vectors_awake() {
  __m512i value = _mm512_setzero_si512();
  __asm__ volatile("vfmadd231ps %0, %0, %0" : "+v"(value));
}

// Packed rows of a by a packed sliver of b.
template <int64_t kTerms>
LAPTIME_AMX void multiply_square(const float* a, const float* b, int64_t steps, const SquarePlace& place,
                                 Meanwhile& meanwhile) {
  constexpr int64_t kFloat = sizeof(float);
  finish_stores();
  if (place.from == nullptr) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    const float* const lower = place.from + kTile * place.from_pitch;
    _tile_loadd(0, place.from, place.from_pitch * kFloat);
    _tile_loadd(1, place.from + kTile, place.from_pitch * kFloat);
    _tile_loadd(2, lower, place.from_pitch * kFloat);
    _tile_loadd(3, lower + kTile, place.from_pitch * kFloat);
  }
  for (int64_t step = 0; step < steps; ++step, a += kTerms * kStepWords, b += kTerms * kStepWords) {
    multiply_step<kTerms>(a, b, [](size_t) {});
    keep_vectors_awake();
    meanwhile.c.fetch(meanwhile.c_lines);
    meanwhile.addend.fetch(meanwhile.c_lines);
    meanwhile.sliver->fetch(meanwhile.sliver_lines);
    meanwhile.store->rows(meanwhile.rows);
    if (step % meanwhile.every == 0) meanwhile.packer->pack(1);
  }
  float* const lower = place.to + kTile * place.to_pitch;
  _tile_stored(0, place.to, place.to_pitch * kFloat);
  _tile_stored(1, place.to + kTile, place.to_pitch * kFloat);
  _tile_stored(2, lower, place.to_pitch * kFloat);
  _tile_stored(3, lower + kTile, place.to_pitch * kFloat);
}

struct SquareTask {
  const cpu::Gemm& gemm;
  PackTiles pack;
  void (*multiply)(const float* a, const float* b, int64_t steps, const SquarePlace& place, Meanwhile& meanwhile);
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
    const auto pack = [&](int64_t tile, int64_t k) {
      float* const panel = panels_ + tile / 2 * kPanelWords + tile % 2 * kTileWords;
      task_.pack.rows(source, tile * kTile, k, panel + k / kStep * task_.pack.terms * kStepWords);
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
    const int64_t least_steps = std::max<int64_t>(1, steps);
    SliverPacker next_packer = packer(next, lane.next_sliver());
    Ahead<false> after_next =
        sliver_ahead(gemm_, block_, sliver.first, sliver.depth, (std::max(next.index, sliver.index) + 1) * kSquare);
    Meanwhile meanwhile{.store = &lane.store,
                        .rows = ceil_div(kSquare, least_steps),
                        .packer = &next_packer,
                        .every = std::clamp<int64_t>(
                            least_steps * squares_ / std::max<int64_t>(1, next_packer.left()), 1, least_steps),
                        .c = {},
                        .addend = {},
                        .c_lines = ceil_div(2 * kSquare, least_steps),
                        .sliver = &after_next,
                        .sliver_lines = ceil_div(after_next.lines(), least_steps * squares_)};
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
  SquareTask task{.gemm = gemm, .pack = kPackTiles<ThreeTerms, ThreeTerms>, .multiply = multiply_square<3>};
  if (gemm.compute == DType::kBFloat16) {
    task.multiply = multiply_square<1>;
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
