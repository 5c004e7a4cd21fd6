// Gemm: a matrix product as memory sees it, and how it is cut into blocks that threads take.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "tensor/layout.h"

namespace laptime::cpu {

// Element (row, column) of matrix b stands at b * batch_stride + row * row_stride + column * column_stride, in
// elements.
struct MatrixLayout {
  int64_t batch_stride = 0;
  int64_t row_stride = 0;
  int64_t column_stride = 1;
};

// c [batches, m, n] = a [batches, m, k] b [batches, k, n]; c is row-major without gaps.
struct GemmShape {
  int64_t batches = 1;
  int64_t m = 0, n = 0, k = 0;
  MatrixLayout a, b;

  double flops() const {
    return 2.0 * static_cast<double>(batches) * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
  }
};

// Of (a [M, K], b [K, N]), or batched (a [B, M, K], b [B, K, N]).
GemmShape gemm_shape(const Layout& a, const Layout& b);

// Where an operand stands: its first element. Without bytes where only the form of a product is asked about.
struct GemmOperand {
  bool present = false;
  DType dtype = DType::kFloat32;
  const std::byte* data = nullptr;
};

// c = a b + bias + addend: rows of c get the bias (N), whole c the addend [batches, M, N]. The factors and the bias are
// rounded to `compute`, products are summed in float32, and the result is rounded once to c's type.
struct Gemm {
  GemmShape shape;
  DType compute = DType::kFloat32;
  GemmOperand a, b, bias, addend;
  MatrixLayout addend_layout;
  DType c_dtype = DType::kFloat32;
  std::byte* c = nullptr;
  std::byte* workspace = nullptr;  // of the kernel
};

// Empty where all operands, an addend aside, and the result are of type `dtype`, else the reason.
std::string uniform_refusal(const Gemm& gemm, DType dtype);

struct GemmBlock {
  int64_t batch = 0;
  int64_t row = 0, column = 0;  // of c
  int64_t rows = 0, columns = 0;
};

// Blocks of equal size, those at the lower and right edges apart. Depends on the shape alone.
class GemmCut {
 public:
  // What suits a kernel: the largest block, and of what its sides should be multiples.
  struct Limits {
    int64_t rows = 512, columns = 768;
    int64_t row_multiple = 8, column_multiple = 48;
  };
  // At least `wanted` blocks where the product is large enough to share.
  GemmCut(const GemmShape& shape, const Limits& limits, int64_t wanted = 8);

  int64_t count() const { return batches_ * row_blocks_ * column_blocks_; }
  GemmBlock operator[](int64_t index) const;
  // Sides of a block at the edge or not; those of operator[] are among them.
  int64_t rows(bool last) const { return last ? m_ - (row_blocks_ - 1) * rows_ : std::min(rows_, m_); }
  int64_t columns(bool last) const { return last ? n_ - (column_blocks_ - 1) * columns_ : std::min(columns_, n_); }

 private:
  int64_t batches_, m_, n_;
  int64_t rows_ = 0, columns_ = 0;  // of a block away from the edge
  int64_t row_blocks_ = 0, column_blocks_ = 0;
};

// A matrix as BLAS names it: rows `leading` apart, or columns when transposed.
struct BlasLayout {
  bool transposed = false;
  int64_t leading = 1;
};
// None where neither rows nor columns stand without gaps, or where they overlap.
std::optional<BlasLayout> blas_layout(const MatrixLayout& layout, int64_t rows, int64_t columns);

// The first element of a block's rows of a, columns of b, and of the block in c, in elements.
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
