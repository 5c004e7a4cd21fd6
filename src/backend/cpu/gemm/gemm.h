// Gemm: a matrix product, its operands in memory, and its division into blocks of C that threads compute.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "tensor/layout.h"

namespace laptime::cpu {

// Element (row, column) of a batch's matrix is at batch * batch_stride + row * row_stride + column * column_stride, in
// elements.
struct MatrixLayout {
  int64_t batch_stride = 0;
  int64_t row_stride = 0;
  int64_t column_stride = 1;
};

// c [batches, m, n] = a [batches, m, k] b [batches, k, n]; c is row-major and contiguous.
struct GemmShape {
  int64_t batches = 1;
  int64_t m = 0, n = 0, k = 0;
  MatrixLayout a, b;

  double flops() const {
    return 2.0 * static_cast<double>(batches) * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
  }
};

// The shape of the product of a [M, K] and b [K, N], or of a [B, M, K] and b [B, K, N].
GemmShape gemm_shape(const Layout& a, const Layout& b);

struct GemmOperand {
  bool present = false;
  DType dtype = DType::kFloat32;
  const std::byte* data = nullptr;  // the first element; null if only a kernel's support is queried
};

// c = a b + bias + addend, with the bias [N] added to every row of c, and an addend [batches, M, N]. The factors and
// the bias are rounded to `compute`, products are summed in float32, and the result is rounded once to c's type.
struct Gemm {
  GemmShape shape;
  DType compute = DType::kFloat32;
  GemmOperand a, b, bias, addend;
  MatrixLayout addend_layout;
  DType c_dtype = DType::kFloat32;
  std::byte* c = nullptr;
};

// An mc x nc block of C: rows [row, row + rows) and columns [column, column + columns) of one batch.
struct GemmBlock {
  int64_t batch = 0;
  int64_t row = 0, column = 0;
  int64_t rows = 0, columns = 0;
};

// C divided into blocks of equal size, except for smaller blocks at the lower and right edges. The division depends on
// the constructor's arguments alone.
class GemmCut {
 public:
  // Upper bounds on mc and nc, and numbers that must divide mc and nc.
  struct Limits {
    int64_t rows = 0, columns = 0;
    int64_t row_multiple = 1, column_multiple = 1;
  };
  GemmCut(const GemmShape& shape, const Limits& limits);

  int64_t count() const { return batches_ * row_blocks_ * column_blocks_; }
  GemmBlock operator[](int64_t index) const;
  // The number of rows (columns) of a block. `last` is true for the blocks at the lower (right) edge of C.
  int64_t rows(bool last) const { return last ? m_ - (row_blocks_ - 1) * rows_ : std::min(rows_, m_); }
  int64_t columns(bool last) const { return last ? n_ - (column_blocks_ - 1) * columns_ : std::min(columns_, n_); }

 private:
  int64_t batches_, m_, n_;
  int64_t rows_ = 0, columns_ = 0;  // size of a block that is not at an edge
  int64_t row_blocks_ = 0, column_blocks_ = 0;
};

// Offsets, in elements, of the first elements of a, b and c that a block of c needs.
inline int64_t position_in_a(const GemmShape& shape, const GemmBlock& block) {
  return block.batch * shape.a.batch_stride + block.row * shape.a.row_stride;
}
inline int64_t position_in_b(const GemmShape& shape, const GemmBlock& block) {
  return block.batch * shape.b.batch_stride + block.column * shape.b.column_stride;
}
inline int64_t position_in_c(const GemmShape& shape, const GemmBlock& block) {
  return (block.batch * shape.m + block.row) * shape.n + block.column;
}

}  // namespace laptime::cpu
