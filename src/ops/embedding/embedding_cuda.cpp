// Launches of the embedding on a CUDA device.
#include "ops/embedding/embedding_cuda.h"

#include "ops/embedding/embedding.h"
#include "ops/move_cuda.h"

namespace laptime::cuda {
namespace {

void forward(const KernelCall& call) {
  const TensorView& y = call.out[0];
  launch_elements<EmbeddingForward>(
      call, y.numel(), {rows_of(call.in[0]), flat_of(call.in[1]), device_data(y), columns_of(y), y.numel()});
}

void backward(const KernelCall& call) {
  const int64_t positions = call.in[1].numel();
  auto* const next = reinterpret_cast<int64_t*>(call.workspace);
  const bool adds = call.in.size() > 2;
  if (!adds) launch_fill(call, call.out[0], 0);
  if (adds && call.in[2].data != call.out[0].data) launch_move(call, call.in[2], call.out[0]);
  launch<EmbeddingNext>(call, positions, row_threads(positions),
                        {flat_of(call.in[1]), positions, next, next + positions});
  launch<EmbeddingBackward>(
      call, positions, row_threads(columns_of(call.out[0])),
      {rows_of(call.in[0]), flat_of(call.in[1]), device_data(call.out[0]), columns_of(call.out[0]), positions,
       call.attributes.as<EmbeddingBackwardAttributes>().pad, adds, next, next + positions});
}

int64_t backward_workspace(const Signature& signature) {
  return (2 * Size(signature.in[1].numel()) * static_cast<int64_t>(sizeof(int64_t))).value();
}

std::string backward_refusal(const Signature& signature) {
  return signature.out[0].dtype == DType::kFloat32 ? "" : "the gradient is not float32, in which rows are added";
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
