// Launches the CUDA kernels of layer norm and RMSNorm.
#include "ops/norm/norm_cuda.h"

#include <algorithm>
#include <initializer_list>

#include "ops/norm/norm.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

// There are enough parts to keep all multiprocessors of a GPU busy, but few enough that the partial sums take little
// memory compared with the rows. A part is short enough to be summed in float32.
constexpr int64_t kLeastRowsPerPart = 2;
constexpr int64_t kMostRowsPerPart = 64;
int64_t rows_per_part(int64_t rows, int64_t columns) {
  const int64_t parts = columns > 1024 ? 264 : 528;
  return std::clamp((rows + parts - 1) / parts, kLeastRowsPerPart, kMostRowsPerPart);
}
int64_t parts_of(int64_t rows, int64_t columns) {
  const int64_t per_part = rows_per_part(rows, columns);
  return (rows + per_part - 1) / per_part;
}

bool has_float32(std::initializer_list<DeviceData> operands) {
  return std::ranges::any_of(
      operands, [](const DeviceData& operand) { return operand.data != nullptr && operand.dtype == DType::kFloat32; });
}

template <class Packs>
void launch_packs(const KernelCall& call, const NormForward::Args& args) {
  launch<Packs>(call, (args.rows + Packs::kTogether - 1) / Packs::kTogether, Packs::threads_for(args.columns), args);
}
template <class Packs>
void launch_packs(const KernelCall& call, const NormBackwardArgs& args) {
  launch<Packs>(call, args.parts, Packs::threads_for(args.columns), args);
}

template <class Norm>
void forward(const KernelCall& call) {
  const TensorView& x = call.in[0];
  const TensorView& rstd = call.out[Norm::kCentred ? 2 : 1];
  NormForward::Args args{};
  args.x = rows_of(x);
  args.weight = device_data(call.in[1]);
  args.weight_stride = call.in[1].strides()[0];
  args.y = device_data(call.out[0]);
  args.rstd = device_data(rstd);
  args.rows = row_count(x);
  args.columns = columns_of(x);
  args.per_column = 1 / static_cast<float>(args.columns);
  args.eps = static_cast<float>(call.attributes.as<Norm>().eps);
  args.centred = Norm::kCentred;
  if (Norm::kCentred) {
    args.bias = device_data(call.in[2]);
    args.bias_stride = call.in[2].strides()[0];
    args.mean = device_data(call.out[1]);
  }
  args.in_fours = has_rows_in_fours(args.x) && is_row_in_fours(args.weight, args.weight_stride) &&
                  is_row_in_fours(args.bias, args.bias_stride) && has_rows_in_fours(args.y, args.columns);
  const bool in_packs = args.columns <= RowsInRegisters::kMostColumns && has_rows_in_packs(args.x, args.columns) &&
                        is_row_in_eights(args.weight, args.weight_stride) &&
                        is_row_in_eights(args.bias, args.bias_stride) && is_row_in_eights(args.y, 1);
  if (!in_packs) return launch<NormForward>(call, args.rows, row_threads(args.columns), args);
  has_float32({args.x, args.y}) ? launch_packs<NormForwardPacks<Norm::kCentred, true>>(call, args)
                                : launch_packs<NormForwardPacks<Norm::kCentred, false>>(call, args);
}

template <class Norm>
int64_t workspace(const Signature& signature) {
  const int64_t columns = signature.in[1].shape().back();
  const int64_t parts = parts_of(signature.in[1].numel() / columns, columns);
  return (Size(parts) * columns * (Norm::kCentred ? 8 : 4)).value();
}

// True if the pack kernels can read this mean or rstd.
bool is_statistic(const DeviceRows& rows) { return rows.dtype == DType::kFloat32 && rows.walk.rank <= 1; }

// (grad_y, x, [mean,] rstd, weight[, addend])
template <class Norm>
void backward(const KernelCall& call) {
  constexpr size_t kRstd = Norm::kCentred ? 3 : 2;
  const TensorView& x = call.in[1];
  NormBackwardArgs args{};
  args.grad_y = rows_of(call.in[0]);
  args.x = rows_of(x);
  if (Norm::kCentred) args.mean = flat_of(call.in[2]);
  args.rstd = flat_of(call.in[kRstd]);
  args.weight = device_data(call.in[kRstd + 1]);
  args.weight_stride = call.in[kRstd + 1].strides()[0];
  if (call.attributes.as<NormBackwardAttributes>().addend) args.addend = rows_of(call.in[kRstd + 2]);
  args.grad_x = device_data(call.out[0]);
  args.grad_weight = device_data(call.out[1]);
  if (Norm::kCentred) args.grad_bias = device_data(call.out[2]);
  args.rows = row_count(x);
  args.columns = columns_of(x);
  args.per_column = 1 / static_cast<float>(args.columns);
  args.rows_per_part = rows_per_part(args.rows, args.columns);
  args.parts = parts_of(args.rows, args.columns);
  args.partials = reinterpret_cast<float*>(call.workspace);
  const bool in_packs = args.columns <= RowsInRegisters::kMostColumns && has_rows_in_packs(args.grad_y, args.columns) &&
                        has_rows_in_packs(args.x, args.columns) && has_rows_in_packs(args.addend, args.columns) &&
                        is_row_in_eights(args.weight, args.weight_stride) && is_row_in_eights(args.grad_x, 1) &&
                        is_statistic(args.rstd) && (!Norm::kCentred || is_statistic(args.mean));
  const int64_t sum_tiles = (args.columns + PartSums::kColumns - 1) / PartSums::kColumns;
  const int64_t sum_blocks = Norm::kCentred ? 2 * sum_tiles : sum_tiles;
  if (in_packs) {
    has_float32({args.grad_y, args.x, args.addend, args.grad_x})
        ? launch_packs<NormBackwardPacks<Norm::kCentred, true>>(call, args)
        : launch_packs<NormBackwardPacks<Norm::kCentred, false>>(call, args);
    launch<NormParameterSums>(call, sum_blocks, PartSums::threads_for(args.parts), args);
    return;
  }
  args.in_fours = has_rows_in_fours(args.grad_y) && has_rows_in_fours(args.x) && has_rows_in_fours(args.addend) &&
                  is_row_in_fours(args.weight, args.weight_stride) && has_rows_in_fours(args.grad_x, args.columns);
  const int64_t tiles = (args.columns + kElementThreads - 1) / kElementThreads;
  // Launched before grad_x is written, because grad_x may overwrite an input of these sums.
  launch<NormParameterParts>(call, tiles * args.parts, kElementThreads, args);
  launch<NormParameterSums>(call, sum_blocks, PartSums::threads_for(args.parts), args);
  launch<NormGradX>(call, args.rows, row_threads(args.columns), args);
}

template <class Norm>
std::vector<Kernel> kernels(const OpCard& op, const OpCard& backward_op) {
  return {{.op = &op, .name = "rows", .launch = forward<Norm>},
          {.op = &backward_op, .name = "rows", .workspace = workspace<Norm>, .launch = backward<Norm>}};
}

}  // namespace

std::vector<Kernel> norm_kernels() {
  std::vector<Kernel> all = kernels<LayerNormAttributes>(kLayerNorm, kLayerNormBackward);
  for (Kernel& kernel : kernels<RmsNormAttributes>(kRmsNorm, kRmsNormBackward)) all.push_back(std::move(kernel));
  return all;
}

}  // namespace laptime::cuda
