// Runs dnnl_sgemm on blocks of C.
#include <dnnl.h>

#include <algorithm>
#include <array>

#include "backend/cpu/gemm/onednn/onednn_gemm.h"
#include "backend/cpu/openmp.h"

namespace laptime::cpu {

void onednn_sgemm(const SgemmCall& call) {
  use_one_openmp_thread();
  const dnnl_status_t status =
      dnnl_sgemm(call.a_layout.transposed ? 'T' : 'N', call.b_layout.transposed ? 'T' : 'N', call.rows, call.columns,
                 call.depth, 1.0F, call.a, call.a_layout.leading, call.b, call.b_layout.leading,
                 call.accumulate ? 1.0F : 0.0F, call.c, call.c_leading);
  LAPTIME_CHECK(status == dnnl_success, "dnnl_sgemm: status {} for {} x {} x {}", static_cast<int>(status), call.rows,
                call.columns, call.depth);
}

void prepare_onednn_sgemm() {
  constexpr int64_t kSide = 16;
  const std::array<float, kSide * kSide> factor{};
  std::array<float, kSide * kSide> result{};
  const BlasLayout rows{.transposed = false, .leading = kSide};
  onednn_sgemm({kSide, kSide, kSide, factor.data(), rows, factor.data(), rows, result.data(), kSide, false});
}

std::string onednn_layout_refusal(const GemmShape& shape) {
  if (!blas_layout(shape.a, shape.m, shape.k))
    return "neither the rows nor the columns of the left matrix are contiguous";
  if (!blas_layout(shape.b, shape.k, shape.n))
    return "neither the rows nor the columns of the right matrix are contiguous";
  return "";
}

void onednn_float32_gemm(Team& team, const Gemm& gemm) {
  const GemmShape& shape = gemm.shape;
  const GemmCut cut(shape, {});
  const auto* const a = reinterpret_cast<const float*>(gemm.a.data);
  const auto* const b = reinterpret_cast<const float*>(gemm.b.data);
  const auto* const bias = reinterpret_cast<const float*>(gemm.bias.data);
  const auto* const addend = reinterpret_cast<const float*>(gemm.addend.data);
  const bool has_start = bias != nullptr || addend != nullptr;  // true if the product is added to values in c
  auto* const c = reinterpret_cast<float*>(gemm.c);
  const BlasLayout a_layout = *blas_layout(shape.a, shape.m, shape.k);
  const BlasLayout b_layout = *blas_layout(shape.b, shape.k, shape.n);
  const auto multiply_block = [&](int64_t index) {
    const GemmBlock block = cut[index];
    float* const result = c + position_in_c(shape, block);
    for (int64_t row = 0; has_start && row < block.rows; ++row) {
      float* const to = result + row * shape.n;
      const float* const more = addend == nullptr
                                    ? nullptr
                                    : addend + block.batch * gemm.addend_layout.batch_stride +
                                          (block.row + row) * gemm.addend_layout.row_stride + block.column;
      for (int64_t j = 0; j < block.columns; ++j)
        to[j] = (more == nullptr ? 0 : more[j]) + (bias == nullptr ? 0 : bias[block.column + j]);
    }
    onednn_sgemm({block.rows, block.columns, shape.k, a + position_in_a(shape, block), a_layout,
                  b + position_in_b(shape, block), b_layout, result, shape.n, has_start});
  };
  team.parallel_for(cut.count(), multiply_block, {shape.flops()});
}

}  // namespace laptime::cpu
