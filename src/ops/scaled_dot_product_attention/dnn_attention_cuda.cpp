// Attention with cuDNN: supported cases and launches.
#include "ops/scaled_dot_product_attention/dnn_attention_cuda.h"

#include <fmt/format.h>

#include <array>

#include "backend/cuda/libraries/dnn.h"
#include "backend/workspace.h"
#include "ops/move_cuda.h"
#include "ops/product_cuda.h"
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention_cuda.h"

namespace laptime::cuda {
namespace {

constexpr int64_t kWidest = kWidestFusedHeadOnGpu;  // supported on every GPU; Hopper supports widths up to 256
constexpr int64_t kElements = 8;    // number of 16-bit elements in 16 bytes, which the library loads at once
constexpr size_t kLogSumExpIn = 4;  // index of the log-sum-exp among the inputs of backward

bool is_backward(const Signature& signature) { return signature.op == &kScaledDotProductAttentionBackward; }

std::string operand_refusal(const TensorType& type, DType dtype) {
  if (type.dtype != dtype) return "operands have different types";
  if (type.layout.strides.back() != 1) return "the last axis is not contiguous";
  for (int axis = 0; axis < 3; ++axis) {
    const int64_t stride = type.layout.strides[axis];
    if (type.shape()[axis] > 1 && (stride <= 0 || stride % kElements != 0))
      return "a stride is not a positive multiple of 16 bytes";
  }
  return type.layout.offset % kElements == 0 ? "" : "an operand is not aligned to 16 bytes";
}

std::string refusal(const Signature& signature) {
  const TensorType& q = signature.in[0];
  const Shape& shape = q.shape();
  if (!is_16_bit_float(q.dtype)) return fmt::format("operands are {}, not bfloat16 or float16", name_of(q.dtype));
  if (signature.attributes.as<AttentionAttributes>().dropout_p > 0)
    return "the dropout mask of cuDNN differs from that of laptime";
  if (is_backward(signature) && q.dtype == DType::kFloat16 && shape[1] > signature.in[1].shape()[1])
    return "the gradients of keys for a single query head may be too large for float16";
  if (shape[3] > kWidest || shape[3] % kElements != 0)
    return fmt::format("heads are {} wide, not a multiple of {} up to {}", shape[3], kElements, kWidest);
  if (shape[2] < 2) return "there is only one position";
  for (const int64_t size : shape) {
    if (size == 0 || size > INT32_MAX) return "an axis is empty, or has 2^31 or more elements";
  }
  for (size_t i = 0; i < signature.in.size(); ++i) {
    if (is_backward(signature) && i == kLogSumExpIn) {
      if (!signature.in[i].layout.is_contiguous()) return "the log-sum-exp is not contiguous";
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

DnnAttention::Strides strides_of(const TensorView& view) {
  const Dims& strides = view.strides();
  return {strides[0], strides[1], strides[2]};
}

// (q, k, v) -> (values)
DnnAttention attention_of(const Attributes& attributes, std::span<const TensorView> in,
                          std::span<const TensorView> out) {
  const Shape& shape = in[0].shape();
  return {.batch = shape[0],
          .heads = shape[1],
          .kv_heads = in[1].shape()[1],
          .positions = shape[2],
          .width = shape[3],
          .dtype = in[0].type.dtype,
          .causal = attributes.as<AttentionAttributes>().causal,
          .q = strides_of(in[0]),
          .k = strides_of(in[1]),
          .v = strides_of(in[2]),
          .values = strides_of(out[0])};
}

// Forward always writes the log-sum-exp, so that one cuDNN plan is enough. If no node reads it, the workspace holds it.
struct Forward {
  DnnAttention attention;
  std::byte* workspace = nullptr;  // workspace of the library
  void* log_sum_exp = nullptr;
  int64_t bytes = 0;

  Forward(const Attributes& attributes, std::span<const TensorView> in, std::span<const TensorView> out,
          std::byte* memory)
      : attention(attention_of(attributes, in, out)) {
    Workspace pieces(memory);
    workspace = pieces.take<std::byte>(workspace_of(attention));
    log_sum_exp = pieces.take<float>((Size(attention.batch) * attention.heads * attention.positions).value());
    bytes = pieces.bytes();
  }

  void launch(const KernelCall& call) const {
    DnnAttentionOperands operands{.q = device_data(call.in[0]).data,
                                  .k = device_data(call.in[1]).data,
                                  .v = device_data(call.in[2]).data,
                                  .values = device_data(call.out[0]).data,
                                  .log_sum_exp = device_data(call.out[1]).data,
                                  .workspace = workspace};
    if (operands.log_sum_exp == nullptr) operands.log_sum_exp = log_sum_exp;
    static_cast<Queue&>(call.queue).launch(attention, operands);
  }
};

// (q, k, v, values, log_sum_exp, grad_values) -> (grad_q, grad_k, grad_v). If query heads share keys, the library would
// need memory for the key gradients of every query head. Instead, each call processes one query head per key head, and
// the gradients of the calls are added up in float32.
struct Backward {
  int64_t group;  // number of query heads that share a head of keys
  DnnAttention attention;
  std::byte* workspace = nullptr;    // workspace of the library
  TensorView log_sum_exp{};          // log-sum-exp for the query heads of a call
  std::array<TensorView, 2> sums{};  // sums for the gradients of keys and values
  int64_t bytes = 0;

  Backward(const Attributes& attributes, std::span<const TensorView> in, std::span<const TensorView> out,
           std::byte* memory)
      : group(in[0].shape()[1] / in[1].shape()[1]) {
    const TensorView q = of_member(in[0], 0);
    const TensorView values = of_member(in[3], 0);
    attention = attention_of(attributes, std::array{q, in[1], in[2]}, std::array{values});
    attention.backward = true;
    attention.grad_values = strides_of(of_member(in[5], 0));
    attention.grad_q = strides_of(of_member(out[0], 0));
    attention.grad_k = strides_of(out[1]);
    attention.grad_v = strides_of(out[2]);
    Workspace pieces(memory);
    workspace = pieces.take<std::byte>(workspace_of(attention));
    if (group > 1) {
      const auto take = [&](const TensorType& type) { return TensorView{pieces.take<std::byte>(type.bytes()), type}; };
      log_sum_exp = take(contiguous_type(DType::kFloat32, of_member(in[4], 0).shape()));
      for (size_t k = 0; k < 2; ++k) sums[k] = take({DType::kFloat32, dense_like(out[k + 1].type.layout)});
    }
    bytes = pieces.bytes();
  }

  // Selects query head `member` of each key head: [B, g, T, columns].
  TensorView of_member(TensorView heads, int64_t member) const {
    Layout& layout = heads.type.layout;
    layout.offset += member * layout.strides[1];
    layout.shape[1] /= group;
    layout.strides[1] *= group;
    return heads;
  }

  void launch(const KernelCall& call) const {
    for (int64_t member = 0; member < group; ++member) {
      if (group > 1) launch_move(call, of_member(call.in[4], member), log_sum_exp);
      static_cast<Queue&>(call.queue)
          .launch(attention, {.q = device_data(of_member(call.in[0], member)).data,
                              .k = device_data(call.in[1]).data,
                              .v = device_data(call.in[2]).data,
                              .values = device_data(of_member(call.in[3], member)).data,
                              .log_sum_exp = device_data(group > 1 ? log_sum_exp : call.in[4]).data,
                              .grad_values = device_data(of_member(call.in[5], member)).data,
                              .grad_q = device_data(of_member(call.out[0], member)).data,
                              .grad_k = device_data(call.out[1]).data,
                              .grad_v = device_data(call.out[2]).data,
                              .workspace = workspace});
      for (size_t k = 0; k < 2 && group > 1; ++k) add_up(call, sums[k], call.out[k + 1], member);
    }
  }

  // Adds this member's gradient to the sum. After the last member, sets the gradient to the sum.
  void add_up(const KernelCall& call, const TensorView& sum, const TensorView& gradient, int64_t member) const {
    if (member == 0) return launch_move(call, gradient, sum);
    const TensorView& to = member + 1 < group ? sum : gradient;
    launch_mapped<AttentionGradSum>(call, elements_of_call<3>({&to, 1}, std::array{sum, gradient}));
  }
};

template <class Direction>
Kernel kernel_of(const OpCard& op) {
  static constexpr auto kOf = [](const Signature& signature) {
    const ViewsOfSignature views(signature);
    return Direction(signature.attributes, views.in, views.out, nullptr);
  };
  return {
      .op = &op,
      .name = "cudnn",
      .supports = refusal,
      .workspace = [](const Signature& signature) { return kOf(signature).bytes; },
      .prepare = [](const Signature& signature,
                    laptime::Queue& queue) { static_cast<Queue&>(queue).prepare(kOf(signature).attention); },
      .launch =
          [](const KernelCall& call) { Direction(call.attributes, call.in, call.out, call.workspace).launch(call); },
      .product_math = [](const Signature& signature) { return math_of_factors(signature.in[0].dtype); },
      .rounds_between_products = true,
      .reproducible = false,
      .library = kDnnName};
}

}  // namespace

std::vector<Kernel> dnn_attention_kernels() {
  return {kernel_of<Forward>(kScaledDotProductAttention), kernel_of<Backward>(kScaledDotProductAttentionBackward)};
}

}  // namespace laptime::cuda
