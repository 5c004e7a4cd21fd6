// Attention by cuDNN: supported cases and launches.
#include "ops/scaled_dot_product_attention/dnn_attention_cuda.h"

#include <fmt/format.h>

#include "backend/cuda/dnn.h"
#include "backend/cuda/queue.h"
#include "backend/workspace.h"
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"

namespace laptime::cuda {
namespace {

constexpr int64_t kWidest = 128;    // on every card; Hopper takes heads of up to 256
constexpr int64_t kElements = 8;    // of 16 bits in 16 bytes, as the library loads them
constexpr size_t kLogSumExpIn = 4;  // of backward

bool is_backward(const Signature& signature) { return signature.op == &kScaledDotProductAttentionBackward; }

std::string operand_refusal(const TensorType& type, DType dtype) {
  if (type.dtype != dtype) return "operands have different types";
  if (type.layout.strides.back() != 1) return "the last axis is not contiguous";
  for (int axis = 0; axis < 3; ++axis) {
    const int64_t stride = type.layout.strides[axis];
    if (type.shape()[axis] > 1 && (stride <= 0 || stride % kElements != 0))
      return "rows are not 16 bytes or multiples of them apart";
  }
  return type.layout.offset % kElements == 0 ? "" : "an operand is not aligned to 16 bytes";
}

std::string refusal(const Signature& signature) {
  if (signature.in[1].shape() != signature.in[0].shape()) return "keys have fewer heads than queries";
  const TensorType& q = signature.in[0];
  const Shape& shape = q.shape();
  if (!is_16_bit_float(q.dtype)) return fmt::format("operands are {}, not of 16 bits", name_of(q.dtype));
  if (signature.attributes.as<AttentionAttributes>().dropout_p > 0) return "its dropout is not ours";
  if (shape[3] > kWidest || shape[3] % kElements != 0)
    return fmt::format("heads are {} wide, not a multiple of {} up to {}", shape[3], kElements, kWidest);
  if (shape[2] < 2) return "there is only one position";
  for (const int64_t size : shape) {
    if (size == 0 || size > INT32_MAX) return "a side is empty, or has 2^31 elements or more";
  }
  for (size_t i = 0; i < signature.in.size(); ++i) {
    if (is_backward(signature) && i == kLogSumExpIn) {
      if (!signature.in[i].layout.is_contiguous()) return "the log-sum-exp has gaps";
    } else if (std::string reason = operand_refusal(signature.in[i], q.dtype); !reason.empty()) {
      return reason;
    }
  }
  const size_t results = is_backward(signature) ? 3 : 1;
  for (size_t i = 0; i < results; ++i) {
    if (std::string reason = operand_refusal(signature.out[i], q.dtype); !reason.empty()) return reason;
  }
  return "";
}

DnnAttention::Strides strides_of(const TensorType& type) {
  const Dims& strides = type.layout.strides;
  return {strides[0], strides[1], strides[2]};
}

// Works on the types or on the views of a call.
template <class Operand, class TypeOf>
DnnAttention attention_of(const Attributes& attributes, std::span<const Operand> in, std::span<const Operand> out,
                          bool backward, const TypeOf& type_of) {
  const Shape& shape = type_of(in[0]).shape();
  DnnAttention attention{.batch = shape[0],
                         .heads = shape[1],
                         .positions = shape[2],
                         .width = shape[3],
                         .dtype = type_of(in[0]).dtype,
                         .causal = attributes.as<AttentionAttributes>().causal,
                         .backward = backward,
                         .q = strides_of(type_of(in[0])),
                         .k = strides_of(type_of(in[1])),
                         .v = strides_of(type_of(in[2])),
                         .values = strides_of(type_of(backward ? in[3] : out[0]))};
  if (backward) {
    attention.grad_values = strides_of(type_of(in[5]));
    attention.grad_q = strides_of(type_of(out[0]));
    attention.grad_k = strides_of(type_of(out[1]));
    attention.grad_v = strides_of(type_of(out[2]));
  }
  return attention;
}

DnnAttention attention_of(const Signature& signature) {
  return attention_of(signature.attributes, std::span<const TensorType>(signature.in),
                      std::span<const TensorType>(signature.out), is_backward(signature),
                      [](const TensorType& type) -> const TensorType& { return type; });
}

DnnAttention attention_of(const KernelCall& call, bool backward) {
  return attention_of(call.attributes, call.in, call.out, backward,
                      [](const TensorView& view) -> const TensorType& { return view.type; });
}

void prepare(const Signature& signature, laptime::Queue& queue) {
  static_cast<Queue&>(queue).prepare(attention_of(signature));
}

// Forward always writes the log-sum-exp, to the workspace where nothing reads it, so that one plan serves both cases.
struct ForwardPieces {
  std::byte* workspace = nullptr;  // of the library
  void* log_sum_exp = nullptr;
  int64_t bytes = 0;

  ForwardPieces(const DnnAttention& attention, std::byte* memory) {
    Workspace pieces(memory);
    workspace = pieces.take<std::byte>(workspace_of(attention));
    log_sum_exp = pieces.take<float>((Size(attention.batch) * attention.heads * attention.positions).value());
    bytes = pieces.bytes();
  }
};

int64_t forward_workspace(const Signature& signature) { return ForwardPieces(attention_of(signature), nullptr).bytes; }

int64_t backward_workspace(const Signature& signature) { return workspace_of(attention_of(signature)); }

void forward(const KernelCall& call) {
  const DnnAttention attention = attention_of(call, false);
  const ForwardPieces pieces(attention, call.workspace);
  DnnAttentionOperands operands{.q = device_data(call.in[0]).data,
                                .k = device_data(call.in[1]).data,
                                .v = device_data(call.in[2]).data,
                                .values = device_data(call.out[0]).data,
                                .log_sum_exp = device_data(call.out[1]).data,
                                .workspace = pieces.workspace};
  if (operands.log_sum_exp == nullptr) operands.log_sum_exp = pieces.log_sum_exp;
  static_cast<Queue&>(call.queue).launch(attention, operands);
}

// (q, k, v, values, log_sum_exp, grad_values) -> (grad_q, grad_k, grad_v)
void backward(const KernelCall& call) {
  static_cast<Queue&>(call.queue)
      .launch(attention_of(call, true), {.q = device_data(call.in[0]).data,
                                         .k = device_data(call.in[1]).data,
                                         .v = device_data(call.in[2]).data,
                                         .values = device_data(call.in[3]).data,
                                         .log_sum_exp = device_data(call.in[4]).data,
                                         .grad_values = device_data(call.in[5]).data,
                                         .grad_q = device_data(call.out[0]).data,
                                         .grad_k = device_data(call.out[1]).data,
                                         .grad_v = device_data(call.out[2]).data,
                                         .workspace = call.workspace});
}

Kernel kernel_of(const OpCard& op) {
  return {.op = &op,
          .name = "cudnn",
          .supports = refusal,
          .prepare = prepare,
          .product_math = [](const Signature& signature) { return math_of_factors(signature.in[0].dtype); },
          .rounds_between_products = true,
          .reproducible = false,
          .library = kDnnName};
}

}  // namespace

Kernel dnn_attention_kernel() {
  Kernel kernel = kernel_of(kScaledDotProductAttention);
  kernel.workspace = forward_workspace;
  kernel.launch = forward;
  return kernel;
}

Kernel dnn_attention_backward_kernel() {
  Kernel kernel = kernel_of(kScaledDotProductAttentionBackward);
  kernel.workspace = backward_workspace;
  kernel.launch = backward;
  return kernel;
}

}  // namespace laptime::cuda
