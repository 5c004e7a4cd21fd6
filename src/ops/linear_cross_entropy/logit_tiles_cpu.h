// Tiles of the logits of a linear layer, and the matrix products of one tile.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "backend/cpu/gemm/gemm_kernels.h"
#include "backend/cpu/vector/strips.h"

namespace laptime::LAPTIME_ISA::logit_tiles {

// Rows [row, row + rows) and columns [column, column + columns) of the logits.
struct Tile {
  int64_t row = 0, column = 0;
  int64_t rows = 0, columns = 0;
};

// Divides the logits into tiles of about 4 MiB of float32, as square as possible. Tiles depend only on the shape of the
// logits.
class Tiling {
 public:
  Tiling(int64_t rows, int64_t columns) : rows_(rows), columns_(columns) {
    constexpr int64_t kElements = int64_t{1} << 20;
    constexpr int64_t kMaxRows = 1024;
    row_tiles_ = ceil_div(rows, kMaxRows);
    tile_rows_ = std::min(rows, align_up(ceil_div(rows, row_tiles_), 8));
    // Tiles consist of whole pieces of a line, so that the sums of a line do not depend on the tiles.
    tile_columns_ = std::min(columns, kElements / tile_rows_ / kStripSize * kStripSize);
    row_tiles_ = ceil_div(rows, tile_rows_);
    column_tiles_ = ceil_div(columns, tile_columns_);
  }

  int64_t row_tiles() const { return row_tiles_; }
  int64_t column_tiles() const { return column_tiles_; }
  Tile tile(int64_t row_tile, int64_t column_tile) const {
    const int64_t row = row_tile * tile_rows_;
    const int64_t column = column_tile * tile_columns_;
    return {row, column, std::min(tile_rows_, rows_ - row), std::min(tile_columns_, columns_ - column)};
  }
  // The largest tile.
  Tile largest() const { return tile(0, 0); }

 private:
  int64_t rows_, columns_;
  int64_t row_tiles_ = 0, column_tiles_ = 0;
  int64_t tile_rows_ = 0, tile_columns_ = 0;
};

// The operands x [N, d], weight [V, d] and bias [V] of a call, and the products that compute or use one tile.
class TileGemms {
 public:
  // Returns nothing if x is not a matrix of rows or the bias is not contiguous.
  static std::optional<TileGemms> from(std::optional<DType> compute, const TensorView& x, const TensorView& weight,
                                       const TensorView* bias) {
    TileGemms gemms;
    const int64_t depth = weight.shape()[1];
    const std::optional<Layout> rows = reshaped(x.type.layout, {x.numel() / depth, depth});
    if (!rows || (bias != nullptr && bias->numel() > 1 && bias->strides()[0] != 1)) return std::nullopt;
    gemms.rows_ = rows->shape[0];
    gemms.columns_ = weight.shape()[0];
    gemms.depth_ = depth;
    gemms.compute_ = compute.value_or(promote(x.type.dtype, weight.type.dtype));
    gemms.x_ = gemm_operand(x);
    gemms.x_layout_ = {0, rows->strides[0], rows->strides[1]};
    gemms.weight_ = gemm_operand(weight);
    gemms.weight_layout_ = {0, weight.strides()[0], weight.strides()[1]};
    if (bias != nullptr) gemms.bias_ = gemm_operand(*bias);
    return gemms;
  }

  int64_t rows() const { return rows_; }    // N
  int64_t depth() const { return depth_; }  // d
  Tiling tiling() const { return {rows_, columns_}; }

  // Sets `to` [rows, columns] to the tile of x W^T + bias.
  cpu::Gemm logits(const Tile& tile, float* to) const {
    cpu::Gemm gemm;
    gemm.shape = {.m = tile.rows, .n = tile.columns, .k = depth_, .a = x_layout_, .b = weight_layout_};
    std::swap(gemm.shape.b.row_stride, gemm.shape.b.column_stride);
    gemm.compute = compute_;
    gemm.a = moved(x_, tile.row * x_layout_.row_stride);
    gemm.b = moved(weight_, tile.column * weight_layout_.row_stride);
    gemm.bias = moved(bias_, tile.column);
    gemm.c = reinterpret_cast<std::byte*>(to);
    return gemm;
  }
  // Sets `to` [rows, d] to g W, where g [rows, columns] is the gradient of the tile. If `add`, adds instead.
  cpu::Gemm grad_x(const Tile& tile, const float* grad, float* to, bool add) const {
    cpu::Gemm gemm = gradient_gemm(grad, to, add);
    gemm.shape = {.m = tile.rows, .n = depth_, .k = tile.columns, .a = {0, tile.columns, 1}, .b = weight_layout_};
    gemm.b = moved(weight_, tile.column * weight_layout_.row_stride);
    return gemm;
  }
  // Sets `to` [columns, d] to g^T x. If `add`, adds instead.
  cpu::Gemm grad_weight(const Tile& tile, const float* grad, float* to, bool add) const {
    cpu::Gemm gemm = gradient_gemm(grad, to, add);
    gemm.shape = {.m = tile.columns, .n = depth_, .k = tile.rows, .a = {0, 1, tile.columns}, .b = x_layout_};
    gemm.b = moved(x_, tile.row * x_layout_.row_stride);
    return gemm;
  }

 private:
  static cpu::GemmOperand moved(cpu::GemmOperand operand, int64_t elements) {
    if (operand.data != nullptr) operand.data += elements * size_of(operand.dtype);
    return operand;
  }

  // A product whose left factor is the gradient. The shapes and the right factor are not set yet.
  cpu::Gemm gradient_gemm(const float* grad, float* to, bool add) const {
    cpu::Gemm gemm;
    gemm.compute = compute_;
    gemm.a = {true, DType::kFloat32, reinterpret_cast<const std::byte*>(grad)};
    gemm.c = reinterpret_cast<std::byte*>(to);
    if (!add) return gemm;
    gemm.addend = {true, DType::kFloat32, gemm.c};
    gemm.addend_layout = {0, depth_, 1};
    return gemm;
  }

  int64_t rows_ = 0, columns_ = 0, depth_ = 0;
  DType compute_ = DType::kFloat32;
  cpu::GemmOperand x_, weight_, bias_;
  cpu::MatrixLayout x_layout_, weight_layout_;
};

}  // namespace laptime::LAPTIME_ISA::logit_tiles
