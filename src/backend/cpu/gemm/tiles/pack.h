// Register blocking (mr, nr), the largest kc, and the packing of blocks of A and panels of B into the order in which
// the micro-kernel reads them.
#pragma once

#include <algorithm>

#include "backend/cpu/gemm/tiles/packed_words.h"

namespace laptime::LAPTIME_ISA::gemm_tiles {

// The micro-kernel keeps mr x nr sums, one row of B and one broadcast element of A in registers.
constexpr int kNrVectors = 2;
constexpr int kNr = kNrVectors * kLanes;
constexpr int kMr = kRegisters == 32 ? 14 : kLanes == 8 ? 6 : 4;

constexpr int64_t kMaxKcWords = 384;
template <class Words>
constexpr int64_t kMaxKc = kMaxKcWords* Words::kSpan;  // elements of K
// Floats of one packed panel of A: mr x kc words, and the overrun of its last vector store.
constexpr int64_t kAPanelFloats = kMr * kMaxKcWords + kLanes;

// Distances between adjacent rows, or columns, in elements.
struct Strides {
  int64_t row = 0, column = 0;
};

// Divides the rows of a block of A evenly into panels of at most mr rows. All panels have an even number of rows; if
// the block has an odd number, the last panel extends one row past the end of the block.
class RowPanels {
 public:
  explicit RowPanels(int64_t rows) : pairs_((rows + 1) / 2), count_((rows + kMr - 1) / kMr) {}
  int64_t count() const { return count_; }
  // Rounding up gives the first panel the most rows.
  int64_t first_row(int64_t panel) const { return (panel * pairs_ + count_ - 1) / count_ * 2; }
  int64_t rows(int64_t panel) const { return first_row(panel + 1) - first_row(panel); }

 private:
  int64_t pairs_, count_;
};

// An mc x kc block of A in memory, not yet packed.
struct ABlockSource {
  const std::byte* data = nullptr;
  Strides strides;
  int64_t rows = 0, kc = 0;
  int64_t readable = 0;  // number of rows from the first row of the block to the end of A
};

// Word w of row i of a panel of A is packed to panel[w * kMr + i]. Rows past the end of the block have arbitrary
// contents, because their sums are never stored. A panel is written in order with whole vectors, so that each store
// overwrites the overrun of the previous store.

// Packs one panel of a block of A whose rows are contiguous, kLanes x kLanes words at a time, transposed in registers.
template <class Words, class Element>
void pack_a_panel(const ABlockSource& source, const RowPanels& panels, int64_t index, float* panel) {
  constexpr int64_t kSpan = Words::kSpan;
  const int64_t stride = source.strides.row;
  std::array<const Element*, kMr> rows;
  for (int64_t i = 0; i < kMr; ++i) {
    const int64_t row = std::min(panels.first_row(index) + i, source.rows - 1);
    rows[static_cast<size_t>(i)] = reinterpret_cast<const Element*>(source.data) + row * stride;
  }
  int64_t k = 0;
  for (; k + kLanes * kSpan <= source.kc; k += kLanes * kSpan) {
    std::array<Vector, kLanes> words{};
#pragma GCC unroll 16
    for (size_t i = 0; i < kMr; ++i) words[i] = Words::along_k(rows[i] + k);
    transpose(words);
    float* const to = panel + k / kSpan * kMr;
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanes; ++i) store(to + i * kMr, words[static_cast<size_t>(i)]);
  }
  for (; k < source.kc; k += kSpan) {
    float* const to = panel + k / kSpan * kMr;
    for (size_t i = 0; i < kMr; ++i) to[i] = Words::one(rows[i] + k, 1, source.kc - k);
  }
}

// Packs all panels of a block of A with any strides; intended for contiguous columns. All panels advance along K
// together, so that each cache line of A is read once: the lines of one column may all map to one cache set and evict
// each other.
template <class Words, class Element>
void pack_a_block(const ABlockSource& source, const RowPanels& panels, float* packed) {
  static_assert(kLanes >= kMr);
  constexpr int64_t kPrefetchWords = 4;
  const auto [row_stride, stride] = source.strides;
  const auto* from = reinterpret_cast<const Element*>(source.data);
  int64_t vector_panels = 0;  // panels from which whole vectors can be loaded without reading past A
  while (row_stride == 1 && vector_panels < panels.count() &&
         panels.first_row(vector_panels) + kLanes <= source.readable)
    ++vector_panels;
  for (int64_t k = 0; k < source.kc; k += Words::kSpan, from += Words::kSpan * stride) {
    float* to = packed + k / Words::kSpan * kMr;
    const int64_t left = source.kc - k;
    const bool prefetches = left > kPrefetchWords * Words::kSpan;
    int64_t panel = 0;
    if (left >= Words::kSpan) {
      for (; panel < vector_panels; ++panel, to += kAPanelFloats) {
        const Element* const row = from + panels.first_row(panel);
        if (prefetches) __builtin_prefetch(row + kPrefetchWords * Words::kSpan * stride);
        store(to, Words::across_k(row, stride));
      }
    }
    for (; panel < panels.count(); ++panel, to += kAPanelFloats) {
      for (int64_t i = 0; i < panels.rows(panel); ++i) {
        const int64_t row = std::min(panels.first_row(panel) + i, source.rows - 1);
        to[i] = Words::one(from + row * row_stride, stride, left);
      }
    }
  }
}

// Functions that pack a block of A: panel by panel if its rows are contiguous, otherwise all panels at once.
struct PackA {
  void (*panel)(const ABlockSource& source, const RowPanels& panels, int64_t index, float* panel) = nullptr;
  void (*block)(const ABlockSource& source, const RowPanels& panels, float* packed) = nullptr;
};
template <class Words, class Element>
constexpr PackA kPackA{pack_a_panel<Words, Element>, pack_a_block<Words, Element>};

// A kc x nr panel of B in memory, not yet packed; at the right edge it has fewer columns.
struct BPanelSource {
  const std::byte* data = nullptr;
  Strides strides;
  int64_t kc = 0, columns = 0;
};
// Packs word w of column j to panel[w * kNr + j]; columns past the end are zeros.
template <class Words, class Element>
void pack_b_panel(const BPanelSource& source, float* panel) {
  constexpr int64_t kSpan = Words::kSpan;
  const auto* const from = reinterpret_cast<const Element*>(source.data);
  const auto [row_stride, column_stride] = source.strides;
  const int64_t kc = source.kc;
  const bool full = source.columns == kNr;
  int64_t k = 0;
  if (full && column_stride == 1) {
    for (; k + kSpan <= kc; k += kSpan) {
      for (int64_t j = 0; j < kNr; j += kLanes)
        store(panel + k / kSpan * kNr + j, Words::across_k(from + k * row_stride + j, row_stride));
    }
  } else if (full && row_stride == 1) {
    for (; k + kLanes * kSpan <= kc; k += kLanes * kSpan) {
      for (int64_t j = 0; j < kNr; j += kLanes) {
        std::array<Vector, kLanes> words;
        for (int64_t i = 0; i < kLanes; ++i)
          words[static_cast<size_t>(i)] = Words::along_k(from + k + (j + i) * column_stride);
        transpose(words);
        float* const to = panel + k / kSpan * kNr + j;
        for (int64_t i = 0; i < kLanes; ++i) store(to + i * kNr, words[static_cast<size_t>(i)]);
      }
    }
  }
  for (; k < kc; k += kSpan) {
    float* const to = panel + k / kSpan * kNr;
    for (int64_t j = 0; j < source.columns; ++j)
      to[j] = Words::one(from + k * row_stride + j * column_stride, row_stride, kc - k);
    std::fill(to + source.columns, to + kNr, 0.0F);
  }
}

}  // namespace laptime::LAPTIME_ISA::gemm_tiles
