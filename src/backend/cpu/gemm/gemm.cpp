// Divides C into blocks, and converts matrix layouts.
#include "backend/cpu/gemm/gemm.h"

#include <algorithm>

namespace laptime::cpu {
namespace {

// FLOPs of the smallest block worth assigning to a thread, about 0.1 ms of work.
constexpr double kMinBlockFlops = 8e6;

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

std::string uniform_refusal(const Gemm& gemm, DType dtype) {
  for (const GemmOperand* operand : {&gemm.a, &gemm.b, &gemm.bias}) {
    if (operand->present && operand->dtype != dtype)
      return fmt::format("an operand is {}; all must be {}", name_of(operand->dtype), name_of(dtype));
  }
  if (gemm.compute != dtype) return fmt::format("operands must be rounded to {} first", name_of(gemm.compute));
  if (gemm.c_dtype != dtype)
    return fmt::format("the result is {}, but the operands are {}", name_of(gemm.c_dtype), name_of(dtype));
  return "";
}

GemmCut::GemmCut(const GemmShape& shape, const Limits& limits, int64_t min_blocks)
    : batches_(shape.batches), m_(shape.m), n_(shape.n) {
  row_blocks_ = ceil_div(m_, limits.rows);
  column_blocks_ = ceil_div(n_, limits.columns);
  while (count() < min_blocks && shape.flops() >= 2 * kMinBlockFlops * static_cast<double>(count())) {
    int64_t& blocks = n_ / column_blocks_ >= m_ / row_blocks_ ? column_blocks_ : row_blocks_;
    blocks *= 2;
  }
  rows_ = align_up(ceil_div(m_, row_blocks_), limits.row_multiple);
  columns_ = align_up(ceil_div(n_, column_blocks_), limits.column_multiple);
  row_blocks_ = ceil_div(m_, rows_);
  column_blocks_ = ceil_div(n_, columns_);
}

GemmBlock GemmCut::operator[](int64_t index) const {
  const int64_t column = index % column_blocks_;
  const int64_t row = index / column_blocks_ % row_blocks_;
  return {index / column_blocks_ / row_blocks_, row * rows_, column * columns_, rows(row == row_blocks_ - 1),
          columns(column == column_blocks_ - 1)};
}

std::optional<BlasLayout> blas_layout(const MatrixLayout& layout, int64_t rows, int64_t columns) {
  // The stride of an axis of size 1 is irrelevant, so the axis counts as having no gap.
  const int64_t row_stride = rows == 1 ? columns : layout.row_stride;
  const int64_t column_stride = columns == 1 ? rows : layout.column_stride;
  if ((layout.column_stride == 1 || columns == 1) && row_stride >= columns) return BlasLayout{false, row_stride};
  if ((layout.row_stride == 1 || rows == 1) && column_stride >= rows) return BlasLayout{true, column_stride};
  return std::nullopt;
}

}  // namespace laptime::cpu
