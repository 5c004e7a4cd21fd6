// Divides C into blocks.
#include "backend/cpu/gemm/gemm.h"

#include <algorithm>

namespace laptime::cpu {
namespace {

MatrixLayout matrix_layout(const Layout& layout) {
  return {layout.rank() == 3 ? layout.strides[0] : 0, layout.strides[-2], layout.strides[-1]};
}

}  // namespace

GemmShape gemm_shape(const Layout& a, const Layout& b) {
  return {.batches = a.rank() == 3 ? a.shape[0] : 1,
          .m = a.shape[-2],
          .n = b.shape[-1],
          .k = a.shape[-1],
          .a = matrix_layout(a),
          .b = matrix_layout(b)};
}

GemmCut::GemmCut(const GemmShape& shape, const Limits& limits) : batches_(shape.batches), m_(shape.m), n_(shape.n) {
  rows_ = align_up(ceil_div(m_, ceil_div(m_, limits.rows)), limits.row_multiple);
  columns_ = align_up(ceil_div(n_, ceil_div(n_, limits.columns)), limits.column_multiple);
  row_blocks_ = ceil_div(m_, rows_);
  column_blocks_ = ceil_div(n_, columns_);
}

GemmBlock GemmCut::operator[](int64_t index) const {
  const int64_t column = index % column_blocks_;
  const int64_t row = index / column_blocks_ % row_blocks_;
  return {index / column_blocks_ / row_blocks_, row * rows_, column * columns_, rows(row == row_blocks_ - 1),
          columns(column == column_blocks_ - 1)};
}

}  // namespace laptime::cpu
