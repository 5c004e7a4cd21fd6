// Launches of the cross entropy of a linear layer on a CUDA device. Only one chunk of rows of the logits exists at a
// time. The order of chunks, and therefore of all sums, is fixed.
#include "ops/linear_cross_entropy/linear_cross_entropy.h"

#include <algorithm>

#include "backend/cuda/gemm.h"
#include "backend/workspace.h"
#include "base/checked.h"
#include "ops/cross_entropy_rows_cuda.h"
#include "ops/linear_cross_entropy/linear_cross_entropy_cuda.h"
#include "ops/move_cuda.h"
#include "ops/product_cuda.h"

namespace laptime::cuda {
namespace {

using In = LinearCrossEntropyBackwardInputs;

TensorView contiguous_view(void* data, DType dtype, const Shape& shape) {
  return {static_cast<std::byte*>(data), contiguous_type(dtype, shape)};
}
TensorView transposed(TensorView matrix) {
  matrix.type.layout = permuted(matrix.type.layout, {1, 0});
  return matrix;
}

// Describes x as a matrix [rows, depth]. Returns nothing if that requires a copy.
std::optional<Layout> matrix_of(const TensorType& x) {
  const int64_t depth = x.shape().back();
  return reshaped(x.layout, {x.numel() / depth, depth});
}

// The sizes of a problem, and how its rows are divided into chunks. Both depend only on shapes.
struct Chunks {
  int64_t rows, columns, depth;
  int64_t chunk_rows;

  // A chunk of float32 logits has at most as many elements as the larger factor, but at least 64 rows, so that matrix
  // products have whole tiles.
  Chunks(const TensorType& x, const TensorType& weight)
      : rows(x.numel() / x.shape().back()), columns(weight.shape()[0]), depth(weight.shape()[1]) {
    constexpr int64_t kTile = Gemm::kTile;
    const int64_t fitting = std::max(x.numel(), weight.numel()) / columns;
    chunk_rows = std::min(rows, std::max(kTile, fitting / kTile * kTile));
  }
  bool is_one() const { return chunk_rows == rows; }
};

// Rows [first, first + count) of x.
TensorView rows_from(const TensorView& x, int64_t first, int64_t count) {
  return {x.data, {x.type.dtype, sliced(*matrix_of(x.type), 0, first, count, 1)}};
}

// The factors that produce the logits of a call.
struct Factors {
  const TensorView& x;
  const TensorView& weight;
  const TensorView* bias;  // may be null
  DType compute;

  Factors(std::optional<DType> compute_type, const TensorView& x_in, const TensorView& weight_in,
          const TensorView* bias_in)
      : x(x_in),
        weight(weight_in),
        bias(bias_in),
        compute(compute_type.value_or(promote(x.type.dtype, weight.type.dtype))) {}

  // Computes the logits of rows [first, first + count) into `to` [count, columns].
  void launch_logits(const KernelCall& call, int64_t first, int64_t count, const TensorView& to) const {
    launch_product(
        call, {.a = rows_from(x, first, count), .b = transposed(weight), .bias = bias, .c = to, .compute = compute});
  }
};

// ---- forward

struct ForwardWorkspace {
  Workspace pieces;
  float* logits;   // [chunk_rows, columns]
  double* losses;  // [rows]

  ForwardWorkspace(const Chunks& chunks, std::byte* memory)
      : pieces(memory),
        logits(pieces.take<float>((Size(chunks.chunk_rows) * chunks.columns).value())),
        losses(pieces.take<double>(chunks.rows)) {}
};

// (x [..., d], weight [V, d], targets [...][, bias [V]]) -> (loss [], log_sum_exp [...], logits [..., V])
void forward(const KernelCall& call) {
  const Chunks chunks(call.in[0].type, call.in[1].type);
  const ForwardWorkspace workspace(chunks, call.workspace);
  const Factors factors(call.attributes.as<LinearCrossEntropyAttributes>().compute, call.in[0], call.in[1],
                        call.in.size() > 3 ? &call.in[3] : nullptr);
  const DeviceRows targets = flat_of(call.in[2]);
  for (int64_t first = 0; first < chunks.rows; first += chunks.chunk_rows) {
    const int64_t count = std::min(chunks.chunk_rows, chunks.rows - first);
    const TensorView logits = contiguous_view(workspace.logits, DType::kFloat32, {count, chunks.columns});
    factors.launch_logits(call, first, count, logits);
    launch<CrossEntropyRows>(
        call, count, row_threads(chunks.columns),
        {rows_of(logits), targets, device_data(call.out[1]), workspace.losses, chunks.columns, first});
    if (call.out[2].data != nullptr) launch_move(call, logits, rows_from(call.out[2], first, count));
  }
  launch<MeanLoss>(call, 1, kMaxBlock, {workspace.losses, chunks.rows, device_data(call.out[0])});
}

// ---- backward

struct BackwardWorkspace {
  Workspace pieces;
  float* logits;  // [chunk_rows, columns]; their gradient overwrites them
  // [columns, depth]; null unless several chunks add to a grad_weight that is not float32
  float* weight_sums = nullptr;
  double* bias_sums = nullptr;  // [columns]

  BackwardWorkspace(const Chunks& chunks, DType grad_weight, bool bias, std::byte* memory)
      : pieces(memory), logits(pieces.take<float>((Size(chunks.chunk_rows) * chunks.columns).value())) {
    if (!chunks.is_one() && grad_weight != DType::kFloat32)
      weight_sums = pieces.take<float>((Size(chunks.columns) * chunks.depth).value());
    if (bias) bias_sums = pieces.take<double>(chunks.columns);
  }
};

// (grad_loss [], x [..., d], weight [V, d], targets [...], log_sum_exp [...][, bias [V]])
//   -> (grad_x [..., d], grad_weight [V, d][, grad_bias [V]])
void backward(const KernelCall& call) {
  const bool bias = call.in.size() > In::kBias;
  const Chunks chunks(call.in[In::kX].type, call.in[In::kWeight].type);
  const BackwardWorkspace workspace(chunks, call.out[1].type.dtype, bias, call.workspace);
  const Factors factors(call.attributes.as<LinearCrossEntropyBackwardAttributes>().compute, call.in[In::kX],
                        call.in[In::kWeight], bias ? &call.in[In::kBias] : nullptr);
  const TensorView& grad_x = call.out[0];
  const TensorView& grad_weight = call.out[1];
  const TensorView weight_sums =
      workspace.weight_sums == nullptr
          ? grad_weight
          : contiguous_view(workspace.weight_sums, DType::kFloat32, {chunks.columns, chunks.depth});
  const bool writes_bias = bias && call.out[2].data != nullptr;
  const DeviceRows targets = flat_of(call.in[In::kTargets]);
  const DeviceRows log_sum_exp = flat_of(call.in[In::kLogSumExp]);
  for (int64_t first = 0; first < chunks.rows; first += chunks.chunk_rows) {
    const int64_t count = std::min(chunks.chunk_rows, chunks.rows - first);
    const TensorView grad = contiguous_view(workspace.logits, DType::kFloat32, {count, chunks.columns});
    factors.launch_logits(call, first, count, grad);
    launch_rows<CrossEntropyBackward>(call, count, CrossEntropyBackward::kThreads,
                                      {device_data(call.in[In::kGradLoss]), rows_of(grad), targets, log_sum_exp,
                                       device_data(grad), chunks.columns, chunks.rows, first});
    if (writes_bias)
      launch_elements<AddColumnSums>(call, chunks.columns,
                                     {workspace.logits, count, chunks.columns, first == 0, workspace.bias_sums});
    if (grad_x.data != nullptr)
      launch_product(
          call, {.a = grad, .b = factors.weight, .c = rows_from(grad_x, first, count), .compute = factors.compute});
    if (grad_weight.data != nullptr)
      launch_product(call, {.a = transposed(grad),
                            .b = rows_from(factors.x, first, count),
                            .addend = first > 0 ? &weight_sums : nullptr,
                            .c = weight_sums,
                            .compute = factors.compute});
  }
  if (grad_weight.data != nullptr && workspace.weight_sums != nullptr) launch_move(call, weight_sums, grad_weight);
  if (writes_bias)
    launch_move(call, contiguous_view(workspace.bias_sums, DType::kFloat64, {chunks.columns}), call.out[2]);
}

// ---- supported cases and workspace

std::string refusal(const TensorType& x) { return matrix_of(x) ? "" : "x is not a matrix of rows"; }

ProductMath product_math(std::optional<DType> compute, const TensorType& x, const TensorType& weight) {
  return math_of_factors(compute.value_or(promote(x.dtype, weight.dtype)));
}

}  // namespace

std::vector<Kernel> linear_cross_entropy_kernels() {
  return {{.op = &kLinearCrossEntropy,
           .name = "row_chunks",
           .supports = [](const Signature& s) { return refusal(s.in[0]); },
           .workspace =
               [](const Signature& s) {
                 return ForwardWorkspace({s.in[0], s.in[1]}, nullptr).pieces.bytes();
               },
           .launch = forward,
           .product_math =
               [](const Signature& s) {
                 return product_math(s.attributes.as<LinearCrossEntropyAttributes>().compute, s.in[0], s.in[1]);
               }},
          {.op = &kLinearCrossEntropyBackward,
           .name = "row_chunks",
           .supports = [](const Signature& s) { return refusal(s.in[In::kX]); },
           .workspace =
               [](const Signature& s) {
                 const Chunks chunks(s.in[In::kX], s.in[In::kWeight]);
                 return BackwardWorkspace(chunks, s.out[1].dtype, s.in.size() > In::kBias, nullptr).pieces.bytes();
               },
           .launch = backward,
           .product_math =
               [](const Signature& s) {
                 return product_math(s.attributes.as<LinearCrossEntropyBackwardAttributes>().compute, s.in[In::kX],
                                     s.in[In::kWeight]);
               }}};
}

}  // namespace laptime::cuda
