// Kernels of the cross entropy of a linear layer. A tile of logits is computed by one of the backend's products, used
// while it is in the cache, and overwritten by the next tile. The order of tiles, and therefore of all sums, is fixed.
#include "ops/linear_cross_entropy/linear_cross_entropy.h"

#include <algorithm>
#include <array>

#include "backend/cpu/vector/rows.h"
#include "backend/workspace.h"
#include "ops/linear_cross_entropy/logit_tiles_cpu.h"

namespace laptime::LAPTIME_ISA {
namespace {

using logit_tiles::Tile;
using logit_tiles::TileGemms;
using logit_tiles::Tiling;
using In = LinearCrossEntropyBackwardInputs;

// The logits [rows, columns] of a tile as a tensor, and one of its rows.
RowView tile_line(const TensorView& tile, int64_t row) { return {&tile, row * tile.shape()[1], 1}; }
TensorView tile_view(const Tile& tile, float* logits) {
  return {reinterpret_cast<std::byte*>(logits), contiguous_type(DType::kFloat32, {tile.rows, tile.columns})};
}

class Forward {
 public:
  Forward(const GemmImplementation& way, const TileGemms& gemms, std::byte* workspace)
      : way_(way), gemms_(gemms), workspace_(workspace) {
    const Tile largest = gemms.tiling().largest();
    logits_ = workspace_.take<float>(largest.rows * largest.columns);
    states_ = workspace_.take<RowState>(largest.rows);
    product_ = workspace_.take<std::byte>(way_.workspace(gemms.logits(largest, nullptr)));
  }
  int64_t bytes() const { return workspace_.bytes(); }

  void run(const KernelCall& call) const {
    const Tiling tiling = gemms_.tiling();
    double loss = 0;  // summed in row order
    for (int64_t row_tile = 0; row_tile < tiling.row_tiles(); ++row_tile) {
      for (int64_t column_tile = 0; column_tile < tiling.column_tiles(); ++column_tile)
        add_tile(call, tiling.tile(row_tile, column_tile));
      const Tile rows = tiling.tile(row_tile, 0);
      for (int64_t row = 0; row < rows.rows; ++row) {
        const RowState& state = states_[row];
        const double log_sum_exp = static_cast<double>(state.sum.largest) + __builtin_log(state.sum.total);
        loss += log_sum_exp - static_cast<double>(state.at_target);
        if (call.out[1].data != nullptr) call.out[1].as<double>()[rows.row + row] = log_sum_exp;
      }
    }
    put_float(static_cast<float>(loss / static_cast<double>(gemms_.rows())), call.out[0],
              call.out[0].type.layout.offset);
  }

 private:
  // Running sums of one row over the columns so far.
  struct RowState {
    ExpSum sum;
    float at_target = 0;
  };

  // Computes a tile of logits and adds its columns to the states of its rows.
  void add_tile(const KernelCall& call, const Tile& tile) const {
    cpu::Team& team = cpu::team_of(call);
    cpu::Gemm gemm = gemms_.logits(tile, logits_);
    gemm.workspace = product_;
    way_.run(team, gemm);
    const auto* const targets = call.in[2].as<const int64_t>();
    const TensorView view = tile_view(tile, logits_);
    const TensorView& all = call.out[2];
    const auto add_rows = [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        RowState& state = states_[row];
        if (tile.column == 0) state = {};
        const float* const logits = logits_ + row * tile.columns;
        add_row(state.sum, tile_line(view, row), tile.columns);
        const int64_t target = targets[tile.row + row] - tile.column;
        if (target >= 0 && target < tile.columns) state.at_target = logits[target];
        if (all.data == nullptr) continue;
        const int64_t to = all.type.layout.offset + (tile.row + row) * all.shape().back() + tile.column;
        store_elements(logits, tile.columns, all, to, 1);
      }
    };
    team.parallel_blocks(tile.rows, Rows::per_block(tile.columns), add_rows, moving(2 * tile.rows * tile.columns));
  }

  const GemmImplementation& way_;
  const TileGemms& gemms_;
  Workspace workspace_;
  float* logits_ = nullptr;
  RowState* states_ = nullptr;
  std::byte* product_ = nullptr;
};

class Backward {
 public:
  Backward(const GemmImplementation& way, const TileGemms& gemms, DType grad_x, DType grad_weight, bool bias,
           std::byte* workspace)
      : way_(way), gemms_(gemms), workspace_(workspace) {
    const Tile largest = gemms.tiling().largest();
    logits_ = workspace_.take<float>(largest.rows * largest.columns);
    if (grad_x != DType::kFloat32) x_sums_ = workspace_.take<float>(gemms.rows() * gemms.depth());
    if (grad_weight != DType::kFloat32) weight_sums_ = workspace_.take<float>(largest.columns * gemms.depth());
    if (bias) bias_sums_ = workspace_.take<double>(largest.columns);
    int64_t product_bytes = 0;
    for (const cpu::Gemm& gemm : {gemms.logits(largest, nullptr), gemms.grad_x(largest, nullptr, nullptr, true),
                                  gemms.grad_weight(largest, nullptr, nullptr, true)})
      product_bytes = std::max(product_bytes, way_.workspace(gemm));
    product_ = workspace_.take<std::byte>(product_bytes);
  }
  int64_t bytes() const { return workspace_.bytes(); }

  // Processes all row tiles of a column tile before the next column tile: grad_weight and grad_bias are summed over the
  // row tiles of a column tile, and grad_x over all column tiles.
  void run(const KernelCall& call) const {
    const Tiling tiling = gemms_.tiling();
    for (int64_t column_tile = 0; column_tile < tiling.column_tiles(); ++column_tile) {
      for (int64_t row_tile = 0; row_tile < tiling.row_tiles(); ++row_tile)
        add_tile(call, tiling.tile(row_tile, column_tile));
      const Tile columns = tiling.tile(0, column_tile);
      if (weight_sums_ != nullptr)
        write_rounded(call, weight_sums_, columns.columns * gemms_.depth(), columns.column * gemms_.depth(),
                      call.out[1]);
      if (call.out.size() > 2 && call.out[2].data != nullptr) put_bias(columns, call.out[2]);
    }
    if (x_sums_ != nullptr) write_rounded(call, x_sums_, gemms_.rows() * gemms_.depth(), 0, call.out[0]);
  }

 private:
  void multiply(const KernelCall& call, cpu::Gemm gemm) const {
    gemm.workspace = product_;
    way_.run(cpu::team_of(call), gemm);
  }

  void add_tile(const KernelCall& call, const Tile& tile) const {
    multiply(call, gemms_.logits(tile, logits_));
    differentiate(call, tile);
    if (call.out.size() > 2 && call.out[2].data != nullptr) add_bias(call, tile);
    if (call.out[0].data != nullptr) {
      float* const to = (x_sums_ != nullptr ? x_sums_ : call.out[0].as<float>()) + tile.row * gemms_.depth();
      multiply(call, gemms_.grad_x(tile, logits_, to, tile.column > 0));
    }
    if (call.out[1].data != nullptr) {
      float* const to = weight_sums_ != nullptr ? weight_sums_ : call.out[1].as<float>() + tile.column * gemms_.depth();
      multiply(call, gemms_.grad_weight(tile, logits_, to, tile.row > 0));
    }
  }

  // Overwrites the logits of a tile with their gradient.
  void differentiate(const KernelCall& call, const Tile& tile) const {
    const auto* const targets = call.in[In::kTargets].as<const int64_t>();
    const auto* const log_sum_exp = call.in[In::kLogSumExp].as<const double>();
    const float scale =
        float_at(call.in[In::kGradLoss], call.in[In::kGradLoss].type.layout.offset) / static_cast<float>(gemms_.rows());
    const auto differentiate_rows = [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        float* const line = logits_ + row * tile.columns;
        const Shift shift(log_sum_exp[tile.row + row]);
#pragma omp simd
        for (int64_t i = 0; i < tile.columns; ++i) line[i] = exp_f32(shift(line[i])) * scale;
        const int64_t target = targets[tile.row + row] - tile.column;
        if (target >= 0 && target < tile.columns) line[target] -= scale;
      }
    };
    cpu::team_of(call).parallel_blocks(tile.rows, Rows::per_block(tile.columns), differentiate_rows,
                                       moving(2 * tile.rows * tile.columns));
  }

  // Adds the rows of a tile to the sums of grad_bias.
  void add_bias(const KernelCall& call, const Tile& tile) const {
    constexpr int64_t kColumns = 128;
    const auto add_columns = [&](int64_t first, int64_t last) {
      if (tile.row == 0) std::fill(bias_sums_ + first, bias_sums_ + last, 0.0);
      for (int64_t row = 0; row < tile.rows; ++row) {
        const float* const line = logits_ + row * tile.columns;
#pragma omp simd
        for (int64_t i = first; i < last; ++i) bias_sums_[i] += static_cast<double>(line[i]);
      }
    };
    cpu::team_of(call).parallel_blocks(tile.columns, kColumns, add_columns, moving(tile.rows * tile.columns));
  }

  // Writes grad_bias of the columns of a tile.
  void put_bias(const Tile& tile, const TensorView& to) const {
    alignas(64) ChunkBuffer rounded;
    for_chunks(tile.columns, [&](int64_t begin, int64_t size) {
      for (int64_t i = 0; i < size; ++i) rounded[static_cast<size_t>(i)] = static_cast<float>(bias_sums_[begin + i]);
      store_elements(rounded.data(), size, to, to.type.layout.offset + tile.column + begin, 1);
    });
  }

  // Writes `count` sums to elements [at, at + count) of `to`, rounded to its type.
  static void write_rounded(const KernelCall& call, const float* sums, int64_t count, int64_t at,
                            const TensorView& to) {
    if (to.data == nullptr) return;
    const auto write = [&](int64_t first, int64_t last) {
      store_elements(sums + first, last - first, to, to.type.layout.offset + at + first, 1);
    };
    cpu::team_of(call).parallel_blocks(count, kBlockSize, write, moving(2 * count));
  }

  const GemmImplementation& way_;
  const TileGemms& gemms_;
  Workspace workspace_;
  float* logits_ = nullptr;
  float* x_sums_ = nullptr;       // [N, d], if grad_x is not float32
  float* weight_sums_ = nullptr;  // [columns of a tile, d], if grad_weight is not float32
  double* bias_sums_ = nullptr;   // [columns of a tile]
  std::byte* product_ = nullptr;
};

std::optional<TileGemms> forward_gemms(const Attributes& attributes, std::span<const TensorView> in) {
  return TileGemms::from(attributes.as<LinearCrossEntropyAttributes>().compute, in[0], in[1],
                         in.size() > 3 ? &in[3] : nullptr);
}
std::optional<TileGemms> backward_gemms(const Attributes& attributes, std::span<const TensorView> in) {
  return TileGemms::from(attributes.as<LinearCrossEntropyBackwardAttributes>().compute, in[In::kX], in[In::kWeight],
                         in.size() > In::kBias ? &in[In::kBias] : nullptr);
}

// The products of a signature. Their operands have no memory.
template <class GemmsOfCall>
std::optional<TileGemms> gemms_without_memory(const Signature& signature, const GemmsOfCall& gemms_of_call) {
  std::vector<TensorView> in;
  for (const TensorType& type : signature.in) in.push_back({nullptr, type});
  return gemms_of_call(signature.attributes, in);
}

// The products of a call that differ in form: those of the first and last row tiles and column tiles.
template <class GemmsOfTile>
std::vector<cpu::Gemm> distinct_gemms(const TileGemms& gemms, const GemmsOfTile& gemms_of_tile) {
  const Tiling tiling = gemms.tiling();
  std::vector<cpu::Gemm> distinct;
  for (const int64_t row_tile : {int64_t{0}, tiling.row_tiles() - 1}) {
    for (const int64_t column_tile : {int64_t{0}, tiling.column_tiles() - 1}) {
      for (const cpu::Gemm& gemm : gemms_of_tile(tiling.tile(row_tile, column_tile))) distinct.push_back(gemm);
    }
  }
  return distinct;
}
std::vector<cpu::Gemm> distinct_forward_gemms(const TileGemms& gemms) {
  return distinct_gemms(gemms, [&](const Tile& tile) { return std::array{gemms.logits(tile, nullptr)}; });
}
std::vector<cpu::Gemm> distinct_backward_gemms(const TileGemms& gemms) {
  return distinct_gemms(gemms, [&](const Tile& tile) {
    return std::array{gemms.logits(tile, nullptr), gemms.grad_x(tile, nullptr, nullptr, false),
                      gemms.grad_x(tile, nullptr, nullptr, true), gemms.grad_weight(tile, nullptr, nullptr, false),
                      gemms.grad_weight(tile, nullptr, nullptr, true)};
  });
}

std::string product_refusal(const GemmImplementation& way, const std::vector<cpu::Gemm>& gemms) {
  for (const cpu::Gemm& gemm : gemms) {
    if (std::string reason = way.refusal(gemm); !reason.empty()) return reason;
  }
  return "";
}

constexpr const char* kNotContiguous = "x is not a matrix of rows, or the bias is not contiguous";

std::string forward_refusal(const GemmImplementation& way, const Signature& signature) {
  if (std::string reason = targets_refusal(signature.in[2]); !reason.empty()) return reason;
  const std::optional<TileGemms> gemms = gemms_without_memory(signature, forward_gemms);
  return gemms ? product_refusal(way, distinct_forward_gemms(*gemms)) : kNotContiguous;
}

std::string backward_refusal(const GemmImplementation& way, const Signature& signature) {
  if (std::string reason = targets_refusal(signature.in[In::kTargets]); !reason.empty()) return reason;
  if (signature.in[In::kGradLoss].dtype != DType::kFloat32) return "grad_loss is not float32";
  if (signature.in[In::kLogSumExp].dtype != DType::kFloat64 || !signature.in[In::kLogSumExp].layout.is_contiguous())
    return "log_sum_exp is not contiguous float64";
  const std::optional<TileGemms> gemms = gemms_without_memory(signature, backward_gemms);
  return gemms ? product_refusal(way, distinct_backward_gemms(*gemms)) : kNotContiguous;
}

void prepare_forward(const GemmImplementation& way, const Signature& signature, Queue& queue) {
  for (const cpu::Gemm& gemm : distinct_forward_gemms(*gemms_without_memory(signature, forward_gemms)))
    way.prepare(static_cast<cpu::Team&>(queue), gemm);
}
void prepare_backward(const GemmImplementation& way, const Signature& signature, Queue& queue) {
  for (const cpu::Gemm& gemm : distinct_backward_gemms(*gemms_without_memory(signature, backward_gemms)))
    way.prepare(static_cast<cpu::Team&>(queue), gemm);
}

int64_t forward_workspace(const GemmImplementation& way, const Signature& signature) {
  const std::optional<TileGemms> gemms = gemms_without_memory(signature, forward_gemms);
  return gemms ? Forward(way, *gemms, nullptr).bytes() : 0;
}
int64_t backward_workspace(const GemmImplementation& way, const Signature& signature) {
  const std::optional<TileGemms> gemms = gemms_without_memory(signature, backward_gemms);
  if (!gemms) return 0;
  return Backward(way, *gemms, signature.out[0].dtype, signature.out[1].dtype, signature.in.size() > In::kBias, nullptr)
      .bytes();
}

// (x [..., d], weight [V, d], targets [...][, bias [V]]) -> (loss [], log_sum_exp [...], logits [..., V])
void launch_forward(const GemmImplementation& way, const KernelCall& call) {
  const TileGemms gemms = *forward_gemms(call.attributes, call.in);
  Forward(way, gemms, call.workspace).run(call);
}
// (grad_loss [], x [..., d], weight [V, d], targets [...], log_sum_exp [...][, bias [V]])
//   -> (grad_x [..., d], grad_weight [V, d][, grad_bias [V]])
void launch_backward(const GemmImplementation& way, const KernelCall& call) {
  const TileGemms gemms = *backward_gemms(call.attributes, call.in);
  Backward(way, gemms, call.out[0].type.dtype, call.out[1].type.dtype, call.in.size() > In::kBias, call.workspace)
      .run(call);
}

// The arithmetic of the logits' product, which the products of backward share.
template <class Product, class GemmsOfCall>
ProductMath product_math(const Signature& signature, const GemmsOfCall& gemms_of_call) {
  const std::optional<TileGemms> gemms = gemms_without_memory(signature, gemms_of_call);
  return gemm_math<Product>(gemms ? gemms->logits(gemms->tiling().largest(), nullptr).compute : DType::kFloat32);
}

}  // namespace

std::vector<Kernel> linear_cross_entropy_kernels() {
  std::vector<Kernel> kernels;
  for_each_gemm_implementation([&]<class Product>(const Product&) {
    kernels.push_back(
        {.op = &kLinearCrossEntropy,
         .name = Product::name(),
         .supports =
             [](const Signature& signature) { return forward_refusal(kGemmImplementation<Product>, signature); },
         .workspace =
             [](const Signature& signature) { return forward_workspace(kGemmImplementation<Product>, signature); },
         .prepare = [](const Signature& signature,
                       Queue& queue) { prepare_forward(kGemmImplementation<Product>, signature, queue); },
         .launch = [](const KernelCall& call) { launch_forward(kGemmImplementation<Product>, call); },
         .product_math = [](const Signature& signature) { return product_math<Product>(signature, forward_gemms); },
         .flushes_denormals = gemm_flushes_denormals<Product>(),
         .reproducible = gemm_is_reproducible<Product>()});
    kernels.push_back(
        {.op = &kLinearCrossEntropyBackward,
         .name = Product::name(),
         .supports =
             [](const Signature& signature) { return backward_refusal(kGemmImplementation<Product>, signature); },
         .workspace =
             [](const Signature& signature) { return backward_workspace(kGemmImplementation<Product>, signature); },
         .prepare = [](const Signature& signature,
                       Queue& queue) { prepare_backward(kGemmImplementation<Product>, signature, queue); },
         .launch = [](const KernelCall& call) { launch_backward(kGemmImplementation<Product>, call); },
         .product_math = [](const Signature& signature) { return product_math<Product>(signature, backward_gemms); },
         .flushes_denormals = gemm_flushes_denormals<Product>(),
         .reproducible = gemm_is_reproducible<Product>()});
  });
  return kernels;
}

}  // namespace laptime::LAPTIME_ISA
