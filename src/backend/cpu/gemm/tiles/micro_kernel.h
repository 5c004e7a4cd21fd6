// The micro-kernel: multiplies a packed panel of A by a packed panel of B, accumulates in registers, and stores to C.
#pragma once

#include "backend/cpu/gemm/tiles/c_tile.h"
#include "backend/cpu/gemm/tiles/pack.h"
#include "backend/cpu/gemm/tiles/prefetcher.h"

namespace laptime::LAPTIME_ISA::gemm_tiles {

// Returns a prefetcher of the part of C that a tile will write.
inline WritePrefetcher c_prefetcher(const CTile& tile) {
  if (tile.narrow_c != nullptr) return {tile.narrow_c, tile.rows, tile.columns * kNarrowSize, tile.ldc * kNarrowSize};
  return {tile.c, tile.rows, tile.columns * 4, tile.ldc * 4};
}

// Operands of later work to prefetch, and how many cache lines of each the micro-kernel prefetches per
// kPrefetchInterval words of K.
struct Prefetches {
  ReadPrefetcher* b_panel = nullptr;  // the next panel of B
  int64_t b_lines = 0;
  ReadPrefetcher* a_block = nullptr;  // the part of A that is packed next
  int64_t a_lines = 0;
  int64_t c_lines = 0;
};
constexpr int64_t kPrefetchInterval = 16;
// With 16 registers there are only 12 multiply-adds per word of K, so without unrolling, loop overhead would matter.
constexpr int kUnrolledWords = kRegisters == 16 ? 4 : 1;

// Lets the micro-kernel read a packed panel of B: at(w, v) is vector v in the row of word w.
class PackedBPanel {
 public:
  explicit PackedBPanel(const float* words) : words_(words) {}
  Vector at(int64_t w, int64_t v) const { return load(words_ + w * kNr + v * kLanes); }
  void advance() { words_ += kPrefetchInterval * kNr; }

 private:
  const float* words_;
};
// Like PackedBPanel, but reads an unpacked panel whose rows are contiguous, and packs it for the following micro-kernel
// calls.
template <class Words, class Element>
class PackingBPanel {
 public:
  PackingBPanel(const BPanelSource& source, float* words)
      : from_(reinterpret_cast<const Element*>(source.data)), stride_(source.strides.row), words_(words) {}
  Vector at(int64_t w, int64_t v) const {
    const Vector value = Words::across_k(from_ + w * Words::kSpan * stride_ + v * kLanes, stride_);
    store(words_ + w * kNr + v * kLanes, value);
    return value;
  }
  void advance() {
    from_ += kPrefetchInterval * Words::kSpan * stride_;
    words_ += kPrefetchInterval * kNr;
  }

 private:
  const Element* from_;
  int64_t stride_;
  float* words_;
};

// Multiplies kRows rows of a packed panel of A by one panel of B, over kc_words words of K.
template <class Words, int kRows, class BPanel>
void micro_kernel(const float* a, BPanel b, int64_t kc_words, const CTile& tile, const Prefetches& prefetches) {
  std::array<std::array<Vector, kNrVectors>, kRows> sums{};
  const auto multiply_word = [&](int64_t w) {
    std::array<Vector, kNrVectors> row;
#pragma GCC unroll 2
    for (size_t v = 0; v < kNrVectors; ++v) row[v] = b.at(w, static_cast<int64_t>(v));
#pragma GCC unroll 16
    for (size_t i = 0; i < kRows; ++i) {
      const float factor = a[w * kMr + static_cast<int64_t>(i)];
#pragma GCC unroll 2
      for (size_t v = 0; v < kNrVectors; ++v) Words::add_product(sums[i][v], factor, row[v]);
    }
  };
  WritePrefetcher c_prefetches = c_prefetcher(tile);
  WritePrefetcher addend_prefetches;
  if (tile.addend != tile.c)
    addend_prefetches = {tile.addend, tile.addend == nullptr ? 0 : tile.rows, tile.columns * 4, tile.ld_addend * 4};
  for (; kc_words >= kPrefetchInterval; kc_words -= kPrefetchInterval, a += kPrefetchInterval * kMr, b.advance()) {
    c_prefetches.prefetch(prefetches.c_lines);
    addend_prefetches.prefetch(prefetches.c_lines);
    prefetches.b_panel->prefetch(prefetches.b_lines);
    prefetches.a_block->prefetch(prefetches.a_lines);
#pragma GCC unroll kUnrolledWords
    for (int64_t w = 0; w < kPrefetchInterval; ++w) {
      __builtin_prefetch(a + (w + kPrefetchInterval) * kMr);
      multiply_word(w);
    }
  }
  for (int64_t w = 0; w < kc_words; ++w) multiply_word(w);

  const bool plain = tile.c != nullptr && tile.bias == nullptr && tile.narrow_addend == nullptr && tile.rows == kRows &&
                     tile.columns == kNr;
  if (plain && tile.addend == nullptr) {
#pragma GCC unroll 16
    for (size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (size_t v = 0; v < kNrVectors; ++v)
        store(tile.c + static_cast<int64_t>(i) * tile.ldc + v * kLanes, sums[i][v]);
    }
    return;
  }
  if (plain) {
#pragma GCC unroll 16
    for (size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (size_t v = 0; v < kNrVectors; ++v) {
        const Vector addend = load(tile.addend + static_cast<int64_t>(i) * tile.ld_addend + v * kLanes);
        store(tile.c + static_cast<int64_t>(i) * tile.ldc + v * kLanes, addend + sums[i][v]);
      }
    }
    return;
  }
  alignas(64) std::array<float, static_cast<size_t>(kMr) * kNr> spilled;
#pragma GCC unroll 16
  for (size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (size_t v = 0; v < kNrVectors; ++v) store(spilled.data() + i * kNr + v * kLanes, sums[i][v]);
  }
  store_c_tile(spilled.data(), tile);
}

using MicroKernel = void (*)(const float* a, PackedBPanel b, int64_t kc_words, const CTile& tile,
                             const Prefetches& prefetches);

// Returns the micro-kernel for a panel of `rows` rows, an even number up to mr.
template <class Words>
MicroKernel micro_kernel_of(int64_t rows) {
  static_assert(kMr % 2 == 0);
  return []<int... kPair>(std::integer_sequence<int, kPair...>, int64_t pairs) {
    static constexpr std::array<MicroKernel, sizeof...(kPair)> kMicroKernels{
        micro_kernel<Words, 2 * (kPair + 1), PackedBPanel>...};
    return kMicroKernels[static_cast<size_t>(pairs - 1)];
  }
  (std::make_integer_sequence<int, kMr / 2>(), rows / 2);
}

// Two functions that pack a panel of B: one before its first use, the other during its first product.
struct PackB {
  void (*panel)(const BPanelSource& source, float* panel) = nullptr;
  void (*panel_and_multiply)(const float* a, const BPanelSource& source, float* panel, const CTile& tile,
                             const Prefetches& prefetches) = nullptr;
};

// Requires mr rows of A, nr columns of B whose rows are contiguous, and a kc that is a multiple of Words::kSpan.
template <class Words, class Element>
void pack_b_panel_and_multiply(const float* a, const BPanelSource& source, float* panel, const CTile& tile,
                               const Prefetches& prefetches) {
  micro_kernel<Words, kMr>(a, PackingBPanel<Words, Element>(source, panel), source.kc / Words::kSpan, tile, prefetches);
}

template <class Words, class Element>
constexpr PackB kPackB{pack_b_panel<Words, Element>, pack_b_panel_and_multiply<Words, Element>};

}  // namespace laptime::LAPTIME_ISA::gemm_tiles
