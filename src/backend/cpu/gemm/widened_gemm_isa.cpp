// Sums a block of C in float32 over kc chunks, whose operands are widened into the thread's scratch.
#include "backend/cpu/gemm/widened_gemm.h"

#include <algorithm>

#include "backend/cpu/gemm/onednn/onednn_gemm.h"
#include "backend/cpu/vector/vectors.h"

namespace laptime::LAPTIME_ISA {
namespace {

constexpr cpu::GemmCut::Limits kLimits{.rows = 384, .columns = 384, .row_multiple = 8, .column_multiple = 48};
constexpr int64_t kKc = 256;
static_assert((kLimits.rows * kLimits.columns + kKc * (kLimits.rows + kLimits.columns)) * 4 <=
              cpu::Team::kScratchBytes);

// Widens a matrix to a contiguous one at `to`, which is transposed if the source is. Returns the new layout.
template <class Narrow>
cpu::BlasLayout widen(const Narrow* from, cpu::BlasLayout layout, int64_t rows, int64_t columns, float* to) {
  if (layout.transposed) std::swap(rows, columns);
  for (int64_t row = 0; row < rows; ++row) widen_row(from + row * layout.leading, columns, to + row * columns);
  return {layout.transposed, columns};
}

template <class Narrow>
void multiply_widened(cpu::Team& team, const cpu::Gemm& gemm) {
  const cpu::GemmShape& shape = gemm.shape;
  const cpu::GemmCut cut(shape, kLimits);
  const auto* const a = reinterpret_cast<const Narrow*>(gemm.a.data);
  const auto* const b = reinterpret_cast<const Narrow*>(gemm.b.data);
  const auto* const bias = reinterpret_cast<const Narrow*>(gemm.bias.data);
  const cpu::BlasLayout a_layout = *blas_layout(shape.a, shape.m, shape.k);
  const cpu::BlasLayout b_layout = *blas_layout(shape.b, shape.k, shape.n);
  const auto multiply_block = [&](int64_t index, int thread) {
    const cpu::GemmBlock block = cut[index];
    auto* const sums = reinterpret_cast<float*>(team.scratch(thread));
    float* const wide_a = sums + kLimits.rows * kLimits.columns;
    float* const wide_b = wide_a + kLimits.rows * kKc;
    for (int64_t row = 0; bias != nullptr && row < block.rows; ++row) {
      for (int64_t column = 0; column < block.columns; ++column) {
        sums[row * block.columns + column] = widened(bias[block.column + column]);
      }
    }
    for (int64_t k = 0; k < shape.k; k += kKc) {
      const int64_t kc = std::min(kKc, shape.k - k);
      const Narrow* const from_a = a + position_in_a(shape, block) + k * (a_layout.transposed ? a_layout.leading : 1);
      const Narrow* const from_b = b + position_in_b(shape, block) + k * (b_layout.transposed ? 1 : b_layout.leading);
      const cpu::BlasLayout wide_a_layout = widen(from_a, a_layout, block.rows, kc, wide_a);
      const cpu::BlasLayout wide_b_layout = widen(from_b, b_layout, kc, block.columns, wide_b);
      cpu::onednn_sgemm({block.rows, block.columns, kc, wide_a, wide_a_layout, wide_b, wide_b_layout, sums,
                         block.columns, k > 0 || bias != nullptr});
    }
    auto* const c = reinterpret_cast<Narrow*>(gemm.c) + position_in_c(shape, block);
    for (int64_t row = 0; row < block.rows; ++row)
      narrow_row(sums + row * block.columns, block.columns, c + row * shape.n);
  };
  team.parallel_for(cut.count(), multiply_block, {shape.flops()});
}

}  // namespace

void widened_gemm(cpu::Team& team, const cpu::Gemm& gemm) {
  gemm.c_dtype == DType::kFloat16 ? multiply_widened<Float16>(team, gemm) : multiply_widened<BFloat16>(team, gemm);
}

}  // namespace laptime::LAPTIME_ISA
