// Attention as cuBLASLt products. Storing the scores takes memory and several passes, but the library's products may be
// faster than our own tiles, and its TF32 products use tensor cores.
#include "ops/scaled_dot_product_attention/product_attention_cuda.h"

#include <cmath>

#include "backend/workspace.h"
#include "ops/move_cuda.h"
#include "ops/product_cuda.h"
#include "ops/scaled_dot_product_attention/attention_scores_cuda.h"
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention_cuda.h"

namespace laptime::cuda {
namespace {

constexpr int64_t kMostScoreBytes = int64_t{1} << 30;

std::string refusal(const Signature& signature) {
  const Shape& shape = signature.in[0].shape();
  for (const TensorType& type : signature.in) {
    if (type.dtype != DType::kFloat32) return fmt::format("operands are {}, not float32", name_of(type.dtype));
  }
  for (const TensorType& type : signature.out) {
    if (type.dtype != DType::kFloat32) return fmt::format("results are {}, not float32", name_of(type.dtype));
  }
  if (signature.attributes.as<AttentionAttributes>().dropout_p > 0)
    return "dropout of attention weights is not supported";
  for (const int64_t size : shape) {
    if (size == 0 || size > INT32_MAX) return "an axis is empty, or has 2^31 or more elements";
  }
  const Size scores = Size(shape[0]) * shape[1] * shape[2] * shape[2] * static_cast<int64_t>(sizeof(float));
  return scores.value() > kMostScoreBytes ? "scores take more than 1 GiB" : "";
}

// The number of matrices, one for each key head. A matrix contains the head's keys, or the concatenated queries of all
// heads that read those keys. Each product thus reads the keys once, and sums their gradients over these query heads.
int64_t matrices_of(std::span<const TensorView> in) { return in[1].shape()[0] * in[1].shape()[1]; }

// [matrices, rows, columns], with the rows of [B, heads, T, d]
Shape merged(const Shape& shape, int64_t matrices, int64_t columns) {
  return {matrices, shape[0] * shape[1] * shape[2] / matrices, columns};
}

// A tensor [B, heads, T, d] as matrices, in place if the library can read them, otherwise as a copy.
class Batches {
 public:
  Batches(Workspace& workspace, const TensorView& tensor, int64_t count) : tensor_(tensor), matrices(tensor) {
    const Shape shape = merged(tensor.shape(), count, tensor.shape()[3]);
    const std::optional<Layout> layout = reshaped(tensor.type.layout, shape);
    is_copied_ = !layout || layout->strides[2] != 1 || layout->strides[1] < shape[2] || layout->strides[0] < 0;
    if (is_copied_) {
      const TensorType type = contiguous_type(tensor.type.dtype, shape);
      matrices = {workspace.take<std::byte>(type.bytes()), type};
    } else {
      matrices.type.layout = *layout;
    }
  }

  void read(const KernelCall& call) const {
    if (is_copied_) launch_move(call, tensor_, in_four_axes());
  }
  void write(const KernelCall& call) const {
    if (is_copied_) launch_move(call, in_four_axes(), tensor_);
  }

 private:
  // Returns the copy in the shape of the tensor.
  TensorView in_four_axes() const { return {matrices.data, contiguous_type(tensor_.type.dtype, tensor_.shape())}; }

  TensorView tensor_;
  bool is_copied_ = false;

 public:
  TensorView matrices;
};

// cuBLASLt writes rows without gaps. A result with gaps is computed in the workspace and then copied.
class Result {
 public:
  Result(Workspace& workspace, const TensorView& tensor, int64_t count) : tensor_(tensor) {
    const TensorType type = contiguous_type(tensor.type.dtype, merged(tensor.shape(), count, tensor.shape()[3]));
    is_copied_ = !tensor.type.layout.is_contiguous();
    matrices = {is_copied_ ? workspace.take<std::byte>(type.bytes()) : device_data(tensor).data, type};
  }
  void write(const KernelCall& call) const {
    if (is_copied_) launch_move(call, {matrices.data, contiguous_type(tensor_.type.dtype, tensor_.shape())}, tensor_);
  }

 private:
  TensorView tensor_;
  bool is_copied_ = false;

 public:
  TensorView matrices{};
};

TensorView transposed(TensorView matrices) {
  matrices.type.layout = permuted(matrices.type.layout, {0, 2, 1});
  return matrices;
}

// Returns the product of a [batches, m, k] and b [batches, k, n].
Product product_of(const TensorView& a, const TensorView& b, const TensorView& c) {
  return {.a = a, .b = b, .c = c, .compute = DType::kFloat32};
}

TensorView scores_of(Workspace& workspace, std::span<const TensorView> in) {
  const Shape& shape = in[0].shape();
  const TensorType type = contiguous_type(DType::kFloat32, merged(shape, matrices_of(in), shape[2]));
  return {workspace.take<std::byte>(type.bytes()), type};
}

float scale_of(const Shape& shape) { return static_cast<float>(1 / std::sqrt(static_cast<double>(shape[3]))); }

// (q, k, v) -> (values, log_sum_exp)
struct Forward {
  Workspace workspace;
  Batches q, k, v;
  Result values;
  TensorView scores;

  Forward(std::span<const TensorView> in, std::span<const TensorView> out, std::byte* memory)
      : workspace(memory),
        q(workspace, in[0], matrices_of(in)),
        k(workspace, in[1], matrices_of(in)),
        v(workspace, in[2], matrices_of(in)),
        values(workspace, out[0], matrices_of(in)),
        scores(scores_of(workspace, in)) {}

  Product to_scores() const { return product_of(q.matrices, transposed(k.matrices), scores); }
  Product to_values() const { return product_of(scores, v.matrices, values.matrices); }
  std::vector<Product> products() const { return {to_scores(), to_values()}; }

  void launch(const KernelCall& call, const BlasChoice& choice) const {
    for (const Batches* operand : {&q, &k, &v}) operand->read(call);
    const Shape& shape = call.in[0].shape();
    launch_blas(call, to_scores(), choice);
    AttentionWeights::Args args{reinterpret_cast<float*>(scores.data),
                                {},
                                shape[2],
                                scale_of(shape),
                                call.attributes.as<AttentionAttributes>().causal};
    args.log_sum_exp = flat_of(call.out[1]);
    cuda::launch<AttentionWeights>(call, row_count(call.in[0]), row_threads(shape[2]), args);
    launch_blas(call, to_values(), choice);
    values.write(call);
  }
};

// (q, k, v, values, log_sum_exp, grad_values) -> (grad_q, grad_k, grad_v)
struct Backward {
  Workspace workspace;
  Batches q, k, v, grad_values;
  Result grad_q, grad_k, grad_v;
  TensorView scores, grad_weights;
  float* sums;  // [rows]: the sum of grad_values * values over each row

  Backward(std::span<const TensorView> in, std::span<const TensorView> out, std::byte* memory)
      : workspace(memory),
        q(workspace, in[0], matrices_of(in)),
        k(workspace, in[1], matrices_of(in)),
        v(workspace, in[2], matrices_of(in)),
        grad_values(workspace, in[5], matrices_of(in)),
        grad_q(workspace, out[0], matrices_of(in)),
        grad_k(workspace, out[1], matrices_of(in)),
        grad_v(workspace, out[2], matrices_of(in)),
        scores(scores_of(workspace, in)),
        grad_weights(scores_of(workspace, in)),
        sums(workspace.take<float>(row_count(in[0]))) {}

  Product to_scores() const { return product_of(q.matrices, transposed(k.matrices), scores); }
  Product to_grad_weights() const { return product_of(grad_values.matrices, transposed(v.matrices), grad_weights); }
  Product to_grad_q() const { return product_of(grad_weights, k.matrices, grad_q.matrices); }
  Product to_grad_k() const { return product_of(transposed(grad_weights), q.matrices, grad_k.matrices); }
  Product to_grad_v() const { return product_of(transposed(scores), grad_values.matrices, grad_v.matrices); }
  std::vector<Product> products() const {
    return {to_scores(), to_grad_weights(), to_grad_q(), to_grad_k(), to_grad_v()};
  }

  void launch(const KernelCall& call, const BlasChoice& choice) const {
    for (const Batches* operand : {&q, &k, &v, &grad_values}) operand->read(call);
    const Shape& shape = call.in[0].shape();
    AttentionArgs rows{};
    rows.values = rows_of(call.in[3]);
    rows.grad_values = rows_of(call.in[5]);
    rows.width = static_cast<int>(shape[3]);
    rows.products = sums;
    cuda::launch<AttentionProducts>(call, row_count(call.in[0]), kWarp, rows);
    launch_blas(call, to_scores(), choice);
    launch_blas(call, to_grad_weights(), choice);
    cuda::launch<AttentionScoreGradients>(
        call, row_count(call.in[0]), row_threads(shape[2]),
        {reinterpret_cast<float*>(scores.data), reinterpret_cast<float*>(grad_weights.data), flat_of(call.in[4]), sums,
         shape[2], scale_of(shape), call.attributes.as<AttentionAttributes>().causal});
    for (const Product& product : {to_grad_q(), to_grad_k(), to_grad_v()}) launch_blas(call, product, choice);
    for (const Result* result : {&grad_q, &grad_k, &grad_v}) result->write(call);
  }
};

template <class Direction, bool kTf32>
Kernel kernel_of(const OpCard& op) {
  static constexpr BlasChoice kChoice{.algorithm = 0, .tf32 = kTf32};
  return {.op = &op,
          .name = kTf32 ? "cublaslt_tf32" : "cublaslt",
          .supports = refusal,
          .workspace =
              [](const Signature& signature) {
                const ViewsOfSignature views(signature);
                return Direction(views.in, views.out, nullptr).workspace.bytes();
              },
          .prepare =
              [](const Signature& signature, laptime::Queue& queue) {
                const ViewsOfSignature views(signature);
                for (const Product& product : Direction(views.in, views.out, nullptr).products()) {
                  // Checks that no operand is copied, because a copy would overwrite the scores.
                  LAPTIME_CHECK(blas_workspace(product, kChoice) == 0, "an attention product needs workspace");
                  prepare_blas(product, kChoice, static_cast<Queue&>(queue));
                }
              },
          .launch = [](const KernelCall& call) { Direction(call.in, call.out, call.workspace).launch(call, kChoice); },
          .product_math = [](const Signature&) { return kTf32 ? ProductMath::kTf32 : ProductMath::kFloat32; },
          .rounds_between_products = kTf32,
          .reproducible = false,
          .library = kBlasName};
}

}  // namespace

std::vector<Kernel> product_attention_kernels() {
  return {kernel_of<Forward, false>(kScaledDotProductAttention), kernel_of<Forward, true>(kScaledDotProductAttention),
          kernel_of<Backward, false>(kScaledDotProductAttentionBackward),
          kernel_of<Backward, true>(kScaledDotProductAttentionBackward)};
}

}  // namespace laptime::cuda
