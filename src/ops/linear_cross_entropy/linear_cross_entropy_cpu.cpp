// Kernels of a linear layer's cross entropy: a tile of logits is made by one of the backend's products, used while it
// is in the cache, and overwritten by the next. Tiles come in a fixed order, so sums over them do too.
#include "ops/linear_cross_entropy/linear_cross_entropy.h"

#include <algorithm>
#include <array>
#include <utility>

#include "backend/cpu/gemm/gemm_kernels.h"
#include "backend/cpu/vector/lines.h"

namespace laptime::LAPTIME_ISA {
namespace {

using In = LinearCrossEntropyBackwardInputs;

// Rows and columns of the logits.
struct Tile {
  int64_t row = 0, column = 0;
  int64_t rows = 0, columns = 0;
};

// Tiles of about 4 MiB of float32, as square as the logits allow: by their shape alone.
class TileCut {
 public:
  TileCut(int64_t rows, int64_t columns) : rows_(rows), columns_(columns) {
    constexpr int64_t kElements = int64_t{1} << 20;
    constexpr int64_t kMostRows = 1024;
    row_tiles_ = (rows + kMostRows - 1) / kMostRows;
    tile_rows_ = std::min(rows, align_up((rows + row_tiles_ - 1) / row_tiles_, 8));
    // Whole pieces of a line, so that each line is summed as it would be at once.
    tile_columns_ = std::min(columns, kElements / tile_rows_ / kStripSize * kStripSize);
    row_tiles_ = (rows + tile_rows_ - 1) / tile_rows_;
    column_tiles_ = (columns + tile_columns_ - 1) / tile_columns_;
  }

  int64_t row_tiles() const { return row_tiles_; }
  int64_t column_tiles() const { return column_tiles_; }
  Tile tile(int64_t row_tile, int64_t column_tile) const {
    const int64_t row = row_tile * tile_rows_;
    const int64_t column = column_tile * tile_columns_;
    return {row, column, std::min(tile_rows_, rows_ - row), std::min(tile_columns_, columns_ - column)};
  }

 private:
  int64_t rows_, columns_;
  int64_t row_tiles_ = 0, column_tiles_ = 0;
  int64_t tile_rows_ = 0, tile_columns_ = 0;
};

cpu::GemmOperand moved(cpu::GemmOperand operand, int64_t elements) {
  if (operand.data != nullptr) operand.data += elements * size_of(operand.dtype);
  return operand;
}

// x [N, d], weight [V, d] and bias [V] of a call, and the products of a tile.
class Operands {
 public:
  // Nothing where one of them is no matrix or vector without gaps.
  static std::optional<Operands> of(std::optional<DType> compute, const TensorView& x, const TensorView& weight,
                                    const TensorView* bias) {
    Operands operands;
    const int64_t depth = weight.shape()[1];
    const std::optional<Layout> rows = reshaped(x.type.layout, {x.numel() / depth, depth});
    if (!rows || (bias != nullptr && bias->numel() > 1 && bias->strides()[0] != 1)) return std::nullopt;
    operands.rows_ = rows->shape[0];
    operands.columns_ = weight.shape()[0];
    operands.depth_ = depth;
    operands.compute_ = compute.value_or(promote(x.type.dtype, weight.type.dtype));
    operands.x_ = gemm_operand(x);
    operands.x_layout_ = {0, rows->strides[0], rows->strides[1]};
    operands.weight_ = gemm_operand(weight);
    operands.weight_layout_ = {0, weight.strides()[0], weight.strides()[1]};
    if (bias != nullptr) operands.bias_ = gemm_operand(*bias);
    return operands;
  }

  int64_t rows() const { return rows_; }
  int64_t depth() const { return depth_; }
  TileCut cut() const { return {rows_, columns_}; }

  // x W^T + bias, the tile's rows and columns of it, to a tile without gaps.
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
  // The tile's share of g W, to its rows of grad_x without gaps.
  cpu::Gemm grad_x(const Tile& tile, const float* grad, float* to, bool adds) const {
    cpu::Gemm gemm = of_grad(grad, to, adds);
    gemm.shape = {.m = tile.rows, .n = depth_, .k = tile.columns, .a = {0, tile.columns, 1}, .b = weight_layout_};
    gemm.b = moved(weight_, tile.column * weight_layout_.row_stride);
    return gemm;
  }
  // The tile's share of g^T x, to its rows of grad_weight without gaps.
  cpu::Gemm grad_weight(const Tile& tile, const float* grad, float* to, bool adds) const {
    cpu::Gemm gemm = of_grad(grad, to, adds);
    gemm.shape = {.m = tile.columns, .n = depth_, .k = tile.rows, .a = {0, 1, tile.columns}, .b = x_layout_};
    gemm.b = moved(x_, tile.row * x_layout_.row_stride);
    return gemm;
  }

 private:
  // Adds to what stands there, or overwrites it.
  cpu::Gemm of_grad(const float* grad, float* to, bool adds) const {
    cpu::Gemm gemm;
    gemm.compute = compute_;
    gemm.a = {true, DType::kFloat32, reinterpret_cast<const std::byte*>(grad)};
    gemm.c = reinterpret_cast<std::byte*>(to);
    if (!adds) return gemm;
    gemm.addend = {true, DType::kFloat32, gemm.c};
    gemm.addend_layout = {0, depth_, 1};
    return gemm;
  }

  int64_t rows_ = 0, columns_ = 0, depth_ = 0;
  DType compute_ = DType::kFloat32;
  cpu::GemmOperand x_, weight_, bias_;
  cpu::MatrixLayout x_layout_, weight_layout_;
};

// The workspace, piece by piece, each aligned to 64; without bytes, only their number.
class Space {
 public:
  explicit Space(std::byte* first) : first_(first) {}

  template <class T>
  T* piece(int64_t count) {
    std::byte* const at = first_ == nullptr ? nullptr : first_ + bytes_;
    bytes_ = align_up((Size(bytes_) + Size(count) * static_cast<int64_t>(sizeof(T))).value(), 64);
    return reinterpret_cast<T*>(at);
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* first_;
  int64_t bytes_ = 0;
};

// A tile as rows.
Line tile_line(const TensorView& tile, int64_t row) { return {&tile, row * tile.shape()[1], 1}; }
TensorView tile_view(const Tile& tile, float* logits) {
  return {reinterpret_cast<std::byte*>(logits), contiguous_type(DType::kFloat32, {tile.rows, tile.columns})};
}

class Forward {
 public:
  Forward(const ProductWay& way, const Operands& of, std::byte* workspace) : way_(way), of_(of), space_(workspace) {
    const Tile largest = of.cut().tile(0, 0);
    logits_ = space_.piece<float>(largest.rows * largest.columns);
    states_ = space_.piece<RowState>(largest.rows);
    product_ = space_.piece<std::byte>(way_.workspace(of.logits(largest, nullptr)));
  }
  int64_t bytes() const { return space_.bytes(); }

  void run(const KernelCall& call) const {
    const TileCut cut = of_.cut();
    double total = 0;  // in the order of the rows
    for (int64_t row_tile = 0; row_tile < cut.row_tiles(); ++row_tile) {
      for (int64_t column_tile = 0; column_tile < cut.column_tiles(); ++column_tile)
        read(call, cut.tile(row_tile, column_tile));
      const Tile rows = cut.tile(row_tile, 0);
      for (int64_t row = 0; row < rows.rows; ++row) {
        const RowState& state = states_[row];
        const double log_sum_exp = static_cast<double>(state.sum.largest) + __builtin_log(state.sum.total);
        total += log_sum_exp - static_cast<double>(state.at_target);
        if (call.out[1].data != nullptr) call.out[1].as<double>()[rows.row + row] = log_sum_exp;
      }
    }
    put_number(static_cast<float>(total / static_cast<double>(of_.rows())), call.out[0],
               call.out[0].type.layout.offset);
  }

 private:
  // Of a row, over the columns so far.
  struct RowState {
    ExpSum sum;
    float at_target = 0;
  };

  void read(const KernelCall& call, const Tile& tile) const {
    cpu::Team& team = cpu::team_of(call);
    cpu::Gemm gemm = of_.logits(tile, logits_);
    gemm.workspace = product_;
    way_.run(team, gemm);
    const auto* const targets = call.in[2].as<const int64_t>();
    const TensorView view = tile_view(tile, logits_);
    const TensorView& all = call.out[2];
    team.parallel_blocks(tile.rows, Rows::per_block(tile.columns), [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        RowState& state = states_[row];
        if (tile.column == 0) state = {};
        const float* const logits = logits_ + row * tile.columns;
        add_line(state.sum, tile_line(view, row), tile.columns);
        const int64_t target = targets[tile.row + row] - tile.column;
        if (target >= 0 && target < tile.columns) state.at_target = logits[target];
        if (all.data == nullptr) continue;
        const int64_t to = all.type.layout.offset + (tile.row + row) * all.shape().back() + tile.column;
        store_line(logits, tile.columns, all, to, 1);
      }
    });
  }

  const ProductWay& way_;
  const Operands& of_;
  Space space_;
  float* logits_ = nullptr;
  RowState* states_ = nullptr;
  std::byte* product_ = nullptr;
};

class Backward {
 public:
  // `x` and `weight`: types of their gradients.
  Backward(const ProductWay& way, const Operands& of, DType x, DType weight, bool bias, std::byte* workspace)
      : way_(way), of_(of), space_(workspace) {
    const Tile largest = of.cut().tile(0, 0);
    logits_ = space_.piece<float>(largest.rows * largest.columns);
    if (x != DType::kFloat32) x_sums_ = space_.piece<float>(of.rows() * of.depth());
    if (weight != DType::kFloat32) weight_sums_ = space_.piece<float>(largest.columns * of.depth());
    if (bias) bias_sums_ = space_.piece<double>(largest.columns);
    int64_t wanted = 0;
    for (const cpu::Gemm& gemm : {of.logits(largest, nullptr), of.grad_x(largest, nullptr, nullptr, true),
                                  of.grad_weight(largest, nullptr, nullptr, true)})
      wanted = std::max(wanted, way_.workspace(gemm));
    product_ = space_.piece<std::byte>(wanted);
  }
  int64_t bytes() const { return space_.bytes(); }

  // The weight's gradient is summed over the row tiles of one column tile, x's over all column tiles.
  void run(const KernelCall& call) const {
    const TileCut cut = of_.cut();
    for (int64_t column_tile = 0; column_tile < cut.column_tiles(); ++column_tile) {
      for (int64_t row_tile = 0; row_tile < cut.row_tiles(); ++row_tile) add(call, cut.tile(row_tile, column_tile));
      const Tile columns = cut.tile(0, column_tile);
      if (weight_sums_ != nullptr)
        round(call, weight_sums_, columns.columns * of_.depth(), columns.column * of_.depth(), call.out[1]);
      if (call.out.size() > 2 && call.out[2].data != nullptr) put_bias(columns, call.out[2]);
    }
    if (x_sums_ != nullptr) round(call, x_sums_, of_.rows() * of_.depth(), 0, call.out[0]);
  }

 private:
  void multiply(const KernelCall& call, cpu::Gemm gemm) const {
    gemm.workspace = product_;
    way_.run(cpu::team_of(call), gemm);
  }

  void add(const KernelCall& call, const Tile& tile) const {
    multiply(call, of_.logits(tile, logits_));
    differentiate(call, tile);
    if (call.out.size() > 2 && call.out[2].data != nullptr) add_bias(call, tile);
    if (call.out[0].data != nullptr) {
      float* const to = (x_sums_ != nullptr ? x_sums_ : call.out[0].as<float>()) + tile.row * of_.depth();
      multiply(call, of_.grad_x(tile, logits_, to, tile.column > 0));
    }
    if (call.out[1].data != nullptr) {
      float* const to = weight_sums_ != nullptr ? weight_sums_ : call.out[1].as<float>() + tile.column * of_.depth();
      multiply(call, of_.grad_weight(tile, logits_, to, tile.row > 0));
    }
  }

  // The gradient of the logits over them.
  void differentiate(const KernelCall& call, const Tile& tile) const {
    const auto* const targets = call.in[In::kTargets].as<const int64_t>();
    const auto* const log_sum_exp = call.in[In::kLogSumExp].as<const double>();
    const float scale =
        number_at(call.in[In::kGradLoss], call.in[In::kGradLoss].type.layout.offset) / static_cast<float>(of_.rows());
    cpu::team_of(call).parallel_blocks(tile.rows, Rows::per_block(tile.columns), [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        float* const line = logits_ + row * tile.columns;
        const Shift shift(log_sum_exp[tile.row + row]);
#pragma omp simd
        for (int64_t i = 0; i < tile.columns; ++i) line[i] = exp_f32(shift.of(line[i])) * scale;
        const int64_t target = targets[tile.row + row] - tile.column;
        if (target >= 0 && target < tile.columns) line[target] -= scale;
      }
    });
  }

  void add_bias(const KernelCall& call, const Tile& tile) const {
    constexpr int64_t kColumns = 128;
    cpu::team_of(call).parallel_blocks(tile.columns, kColumns, [&](int64_t first, int64_t last) {
      if (tile.row == 0) std::fill(bias_sums_ + first, bias_sums_ + last, 0.0);
      for (int64_t row = 0; row < tile.rows; ++row) {
        const float* const line = logits_ + row * tile.columns;
#pragma omp simd
        for (int64_t i = first; i < last; ++i) bias_sums_[i] += static_cast<double>(line[i]);
      }
    });
  }

  void put_bias(const Tile& tile, const TensorView& to) const {
    alignas(64) Piece rounded;
    for_pieces(tile.columns, [&](int64_t begin, int64_t size) {
      for (int64_t i = 0; i < size; ++i) rounded[static_cast<size_t>(i)] = static_cast<float>(bias_sums_[begin + i]);
      store_line(rounded.data(), size, to, to.type.layout.offset + tile.column + begin, 1);
    });
  }

  static void round(const KernelCall& call, const float* sums, int64_t count, int64_t at, const TensorView& to) {
    if (to.data == nullptr) return;
    cpu::team_of(call).parallel_blocks(count, kBlockSize, [&](int64_t first, int64_t last) {
      store_line(sums + first, last - first, to, to.type.layout.offset + at + first, 1);
    });
  }

  const ProductWay& way_;
  const Operands& of_;
  Space space_;
  float* logits_ = nullptr;
  float* x_sums_ = nullptr;       // where the gradient is narrower than float32
  float* weight_sums_ = nullptr;  // of a column tile, where the gradient is narrower than float32
  double* bias_sums_ = nullptr;   // of a column tile
  std::byte* product_ = nullptr;
};

std::optional<Operands> forward_operands(const Attributes& attributes, std::span<const TensorView> in) {
  return Operands::of(attributes.as<LinearCrossEntropyAttributes>().compute, in[0], in[1],
                      in.size() > 3 ? &in[3] : nullptr);
}
std::optional<Operands> backward_operands(const Attributes& attributes, std::span<const TensorView> in) {
  return Operands::of(attributes.as<LinearCrossEntropyBackwardAttributes>().compute, in[In::kX], in[In::kWeight],
                      in.size() > In::kBias ? &in[In::kBias] : nullptr);
}

// Their form: no bytes.
template <class OperandsOf>
std::optional<Operands> form_of(const Signature& signature, const OperandsOf& operands_of) {
  std::vector<TensorView> in;
  for (const TensorType& type : signature.in) in.push_back({nullptr, type});
  return operands_of(signature.attributes, in);
}

// The products of one tile, and of a whole call each that differs from the others in its form: those of the first and
// the last tile of rows and of columns.
std::array<cpu::Gemm, 1> forward_gemms(const Operands& of, const Tile& tile) { return {of.logits(tile, nullptr)}; }
std::array<cpu::Gemm, 5> backward_gemms(const Operands& of, const Tile& tile) {
  return {of.logits(tile, nullptr), of.grad_x(tile, nullptr, nullptr, false), of.grad_x(tile, nullptr, nullptr, true),
          of.grad_weight(tile, nullptr, nullptr, false), of.grad_weight(tile, nullptr, nullptr, true)};
}
template <class GemmsOfTile>
std::vector<cpu::Gemm> distinct_gemms(const Operands& of, const GemmsOfTile& gemms_of_tile) {
  const TileCut cut = of.cut();
  std::vector<cpu::Gemm> gemms;
  for (const int64_t row_tile : {int64_t{0}, cut.row_tiles() - 1}) {
    for (const int64_t column_tile : {int64_t{0}, cut.column_tiles() - 1}) {
      for (const cpu::Gemm& gemm : gemms_of_tile(of, cut.tile(row_tile, column_tile))) gemms.push_back(gemm);
    }
  }
  return gemms;
}

std::string product_refusal(const ProductWay& way, const std::vector<cpu::Gemm>& gemms) {
  for (const cpu::Gemm& gemm : gemms) {
    if (std::string reason = way.refusal(gemm); !reason.empty()) return reason;
  }
  return "";
}

constexpr const char* kGaps = "an operand is no matrix without gaps";

std::string forward_refusal(const ProductWay& way, const Signature& signature) {
  if (std::string reason = targets_refusal(signature.in[2]); !reason.empty()) return reason;
  const std::optional<Operands> of = form_of(signature, forward_operands);
  return of ? product_refusal(way, distinct_gemms(*of, forward_gemms)) : kGaps;
}

std::string backward_refusal(const ProductWay& way, const Signature& signature) {
  if (std::string reason = targets_refusal(signature.in[In::kTargets]); !reason.empty()) return reason;
  if (signature.in[In::kGradLoss].dtype != DType::kFloat32) return "the loss is not float32";
  if (signature.in[In::kLogSumExp].dtype != DType::kFloat64 || !signature.in[In::kLogSumExp].layout.is_contiguous())
    return "log_sum_exp is not float64 without gaps";
  const std::optional<Operands> of = form_of(signature, backward_operands);
  return of ? product_refusal(way, distinct_gemms(*of, backward_gemms)) : kGaps;
}

void prepare_forward(const ProductWay& way, const Signature& signature, Queue& queue) {
  for (const cpu::Gemm& gemm : distinct_gemms(*form_of(signature, forward_operands), forward_gemms))
    way.prepare(static_cast<cpu::Team&>(queue), gemm);
}
void prepare_backward(const ProductWay& way, const Signature& signature, Queue& queue) {
  for (const cpu::Gemm& gemm : distinct_gemms(*form_of(signature, backward_operands), backward_gemms))
    way.prepare(static_cast<cpu::Team&>(queue), gemm);
}

int64_t forward_workspace(const ProductWay& way, const Signature& signature) {
  const std::optional<Operands> of = form_of(signature, forward_operands);
  return of ? Forward(way, *of, nullptr).bytes() : 0;
}
int64_t backward_workspace(const ProductWay& way, const Signature& signature) {
  const std::optional<Operands> of = form_of(signature, backward_operands);
  if (!of) return 0;
  return Backward(way, *of, signature.out[0].dtype, signature.out[1].dtype, signature.in.size() > In::kBias, nullptr)
      .bytes();
}

void launch_forward(const ProductWay& way, const KernelCall& call) {
  const Operands of = *forward_operands(call.attributes, call.in);
  Forward(way, of, call.workspace).run(call);
}
void launch_backward(const ProductWay& way, const KernelCall& call) {
  const Operands of = *backward_operands(call.attributes, call.in);
  Backward(way, of, call.out[0].type.dtype, call.out[1].type.dtype, call.in.size() > In::kBias, call.workspace)
      .run(call);
}

}  // namespace

std::vector<Kernel> linear_cross_entropy_kernels() {
  std::vector<Kernel> kernels;
  for_each_product([&]<class Product>(const Product&) {
    kernels.push_back(
        {.op = &kLinearCrossEntropy,
         .name = Product::name(),
         .supports = [](const Signature& signature) { return forward_refusal(kProductWay<Product>, signature); },
         .workspace = [](const Signature& signature) { return forward_workspace(kProductWay<Product>, signature); },
         .prepare = [](const Signature& signature,
                       Queue& queue) { prepare_forward(kProductWay<Product>, signature, queue); },
         .launch = [](const KernelCall& call) { launch_forward(kProductWay<Product>, call); }});
    kernels.push_back(
        {.op = &kLinearCrossEntropyBackward,
         .name = Product::name(),
         .supports = [](const Signature& signature) { return backward_refusal(kProductWay<Product>, signature); },
         .workspace = [](const Signature& signature) { return backward_workspace(kProductWay<Product>, signature); },
         .prepare = [](const Signature& signature,
                       Queue& queue) { prepare_backward(kProductWay<Product>, signature, queue); },
         .launch = [](const KernelCall& call) { launch_backward(kProductWay<Product>, call); }});
  });
  return kernels;
}

}  // namespace laptime::LAPTIME_ISA
