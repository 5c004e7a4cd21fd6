// Launches the CUDA kernels of the embedding.
#include "ops/embedding/embedding_cuda.h"

#include <algorithm>

#include "backend/cuda/block_sums.h"
#include "ops/embedding/embedding.h"
#include "ops/move_cuda.h"

namespace laptime::cuda {
namespace {

void forward(const KernelCall& call) {
  const TensorView& y = call.out[0];
  const DeviceRows weight = rows_of(call.in[0]);
  const int64_t columns = columns_of(y);
  if (has_rows_in_eights(weight, columns) && is_aligned_for_words(device_data(y))) {
    launch_elements<EmbeddingEights>(
        call, y.numel() / kEight, {weight, flat_of(call.in[1]), device_data(y), columns / kEight, y.numel() / kEight});
    return;
  }
  launch_elements<EmbeddingForward>(call, y.numel(), {weight, flat_of(call.in[1]), device_data(y), columns, y.numel()});
}

void backward(const KernelCall& call) {
  const int64_t positions = call.in[1].numel();
  auto* const keys = reinterpret_cast<int64_t*>(call.workspace);
  int64_t* sorted = keys;
  const bool adds = call.in.size() > 2;
  if (!adds) launch_fill(call, call.out[0], 0);
  if (adds && call.in[2].data != call.out[0].data) launch_move(call, call.in[2], call.out[0]);
  const int64_t chunks = (positions + EmbeddingSort::kChunk - 1) / EmbeddingSort::kChunk;
  const int64_t pairs = (std::min<int64_t>(positions, EmbeddingSort::kChunk) + 1) / 2;
  launch<EmbeddingSort>(call, chunks, static_cast<int>((pairs + kWarp - 1) / kWarp * kWarp),
                        {flat_of(call.in[1]), positions, keys});
  if (chunks > 1) {
    sorted = keys + positions;
    launch_elements<EmbeddingMerge>(call, positions, {keys, sorted, positions});
  }
  const DeviceRows grad = rows_of(call.in[0]);
  const DeviceData grad_weight = device_data(call.out[0]);
  const int64_t columns = columns_of(call.out[0]);
  const bool in_eights = has_rows_in_eights(grad, columns) && is_aligned_for_words(grad_weight);
  launch<EmbeddingBackward>(call, positions, row_threads(in_eights ? columns / kEight : columns),
                            {grad, grad_weight, columns, positions,
                             call.attributes.as<EmbeddingBackwardAttributes>().pad, adds, in_eights, sorted});
}

int64_t backward_workspace(const Signature& signature) {
  return (2 * Size(signature.in[1].numel()) * static_cast<int64_t>(sizeof(int64_t))).value();
}

std::string backward_refusal(const Signature& signature) {
  if (signature.out[0].dtype != DType::kFloat32) return "the gradient is not float32, the type in which rows are added";
  return std::max(signature.out[0].shape()[0], signature.in[1].numel()) > INT32_MAX
             ? "more than 2^31 - 1 rows or positions"
             : "";
}

void count_up(const KernelCall& call) {
  launch_elements<CountUp>(call, call.out[0].numel(), elements_of_call<1>(call.out, {}));
}

}  // namespace

std::vector<Kernel> embedding_kernels() {
  return {{.op = &kEmbedding, .name = "rows", .launch = forward},
          {.op = &kEmbeddingBackward,
           .name = "first_positions",
           .supports = backward_refusal,
           .workspace = backward_workspace,
           .launch = backward},
          {.op = &kArange, .name = "elements", .launch = count_up}};
}

}  // namespace laptime::cuda
