// Kernels of the embedding. Forward copies rows. In backward, each task has a range of ids and adds the rows of these
// ids in order.
#include "ops/embedding/embedding.h"

#include <cstring>

#include "backend/cpu/vector/strips.h"

namespace laptime::LAPTIME_ISA {
namespace {

const int64_t* ids_of(const TensorView& ids) { return ids.as<const int64_t>(); }

// (weight [V, C], ids [...]) -> [..., C]
void launch_forward(const KernelCall& call) {
  const TensorView& weight = call.in[0];
  const int64_t* ids = ids_of(call.in[1]);
  const int64_t columns = weight.shape()[1];
  const auto element = static_cast<size_t>(size_of(weight.type.dtype));
  const size_t row_bytes = static_cast<size_t>(columns) * element;
  const std::byte* from = weight.data + static_cast<size_t>(weight.type.layout.offset) * element;
  const size_t from_bytes = static_cast<size_t>(weight.strides()[0]) * element;
  std::byte* to = call.out[0].data + static_cast<size_t>(call.out[0].type.layout.offset) * element;
  cpu::team_of(call).parallel_blocks(call.in[1].numel(), Rows::per_block(columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::memcpy(to + static_cast<size_t>(row) * row_bytes, from + static_cast<size_t>(ids[row]) * from_bytes,
                  row_bytes);
    }
  });
}

std::string forward_refusal(const Signature& signature) {
  if (signature.in[1].dtype != DType::kInt64) return "ids are not int64";
  if (!signature.in[1].layout.is_contiguous()) return "ids are not contiguous";
  if (signature.in[0].layout.strides[1] != 1 && signature.in[0].shape()[1] != 1)
    return "rows of the weight are not contiguous";
  return "";
}

// (grad_y [..., C], ids [...][, addend [V, C]]) -> grad_weight [V, C], which may share the addend's storage
void launch_backward(const KernelCall& call) {
  const TensorView& grad = call.in[0];
  const int64_t* ids = ids_of(call.in[1]);
  const int64_t count = call.in[1].numel();
  const int64_t vocabulary = call.out[0].shape()[0];
  const int64_t columns = call.out[0].shape()[1];
  const int64_t pad = call.attributes.as<EmbeddingBackwardAttributes>().pad;
  const int64_t stride = grad.strides().back();
  const Rows rows({&grad});
  float* out = call.out[0].as<float>();
  const float* const addend = call.in.size() > 2 ? call.in[2].as<const float>() : nullptr;
  cpu::team_of(call).parallel_blocks(vocabulary, Rows::per_block(columns), [&](int64_t begin, int64_t end) {
    alignas(64) std::array<float, kStripSize> buffer;
    const size_t bytes = static_cast<size_t>((end - begin) * columns) * sizeof(float);
    if (addend == nullptr) std::memset(out + begin * columns, 0, bytes);
    if (addend != nullptr && addend != out) std::memcpy(out + begin * columns, addend + begin * columns, bytes);
    for (int64_t row = 0; row < count; ++row) {
      if (ids[row] < begin || ids[row] >= end || ids[row] == pad) continue;
      float* to = out + ids[row] * columns;
      for (int64_t at = 0; at < columns; at += kStripSize) {
        const int64_t size = columns - at < kStripSize ? columns - at : kStripSize;
        const float* from = float_elements(grad, rows.position(0, row) + at * stride, stride, size, buffer.data());
#pragma omp simd
        for (int64_t i = 0; i < size; ++i) to[at + i] += from[i];
      }
    }
  });
}

std::string backward_refusal(const Signature& signature) {
  if (signature.in[1].dtype != DType::kInt64) return "ids are not int64";
  if (!signature.in[1].layout.is_contiguous()) return "ids are not contiguous";
  if (signature.out[0].dtype != DType::kFloat32) return "the gradient is not float32, the type in which rows are added";
  if (signature.in.size() > 2 && !signature.in[2].layout.is_contiguous()) return "the addend is not contiguous";
  return strips_refusal({}, {signature.in.data(), 1});
}

}  // namespace

std::vector<Kernel> embedding_kernels() {
  return {
      {.op = &kEmbedding, .name = isa_name("rows"), .supports = forward_refusal, .launch = launch_forward},
      {.op = &kEmbeddingBackward, .name = isa_name("ranges"), .supports = backward_refusal, .launch = launch_backward},
  };
}

}  // namespace laptime::LAPTIME_ISA
