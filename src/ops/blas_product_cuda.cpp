// Matrix products by cuBLASLt: which operands it reads directly, and which are copied first.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "backend/cuda/blas_products.h"
#include "backend/workspace.h"
#include "ops/move_cuda.h"
#include "ops/product_cuda.h"

namespace laptime::cuda {
namespace {

constexpr uint32_t kAlignment = 16;    // the widest load of a thread
constexpr int64_t kPaddedBytes = 128;  // padded rows begin at multiples of this, so that no row adds a line of memory

uint32_t alignment_of(const TensorType& type) {
  const auto begin = static_cast<uint64_t>(type.layout.offset * size_of(type.dtype));
  return begin == 0 ? kAlignment : static_cast<uint32_t>(std::min<uint64_t>(kAlignment, begin & (~begin + 1)));
}

// The tensor as matrices [batches, rows, columns]; nothing if the library cannot read them in place.
std::optional<BlasMatrix> matrix_of(const TensorType& type, int64_t batches, int64_t rows, int64_t columns) {
  const std::optional<Layout> layout = reshaped(type.layout, {batches, rows, columns});
  if (!layout) return std::nullopt;
  const int64_t row = layout->strides[1];
  const int64_t column = layout->strides[2];
  BlasMatrix matrix{.dtype = type.dtype, .batch_stride = batches == 1 ? 0 : layout->strides[0]};
  matrix.alignment = alignment_of(type);
  if (matrix.batch_stride < 0) return std::nullopt;
  if ((column == 1 || columns == 1) && (row >= columns || rows == 1)) {
    matrix.leading = rows == 1 ? columns : row;
    return matrix;
  }
  if ((row == 1 || rows == 1) && (column >= rows || columns == 1)) {
    matrix.columns_adjacent = false;
    matrix.leading = columns == 1 ? rows : column;
    return matrix;
  }
  return std::nullopt;
}

// A product in the terms of the library, and the copies that precede it.
class BlasCall {
 public:
  // If `memory` is null, only counts the bytes of the workspace.
  BlasCall(const Product& product, const BlasChoice& choice, std::byte* memory)
      : is_padded_(choice.padded), workspace_(memory) {
    const TensorView& c = product.c;
    const Shape& b_shape = product.b.shape();
    blas.batches = b_shape.rank() == 3 ? b_shape[0] : 1;
    blas.k = b_shape[-2];
    blas.n = b_shape[-1];
    blas.m = c.numel() / (blas.n * blas.batches);
    blas.d = *matrix_of(c.type, blas.batches, blas.m, blas.n);
    blas.algorithm = choice.algorithm;
    blas.tf32 = choice.tf32;
    blas.any_order = choice.any_order;
    operands.d = device_data(c).data;
    if (is_padded_ && is_odd(blas.d) && product.addend == nullptr) {
      const TensorType type = padded_type(c.type);
      if (const std::optional<BlasMatrix> padded = matrix_of(type, blas.batches, blas.m, blas.n)) {
        c_copy = padded_piece(type);
        blas.d = *padded;
        operands.d = c_copy->data;
      }
    }
    operands.a = factor(product.a, product.compute, blas.m, blas.k, a_copy, blas.a);
    operands.b = factor(product.b, product.compute, blas.k, blas.n, b_copy, blas.b);
    if (product.bias != nullptr) add_bias(*product.bias, product.compute, c.type.dtype);
    blas.c = blas.d;
    if (product.addend != nullptr) add_addend(*product.addend, c);
  }

  int64_t bytes() const { return workspace_.bytes(); }

  BlasProduct blas;
  BlasOperands operands;
  // Buffers for operands that must be copied first.
  std::optional<TensorView> a_copy, b_copy, bias_copy, addend_copy;
  // The bias rounded to the type of the factors, from which bias_copy is then made in the type of the result.
  std::optional<TensorView> rounded_bias;
  // The result with padded rows, which is then copied to its destination; absent if the library writes the result
  // directly.
  std::optional<TensorView> c_copy;
  bool pads = false;  // whether a copy exists only to align rows

 private:
  // Whether rows or columns start at addresses that are not multiples of 16 bytes.
  static bool is_odd(const BlasMatrix& matrix) {
    return matrix.alignment < kAlignment || matrix.leading * size_of(matrix.dtype) % kAlignment != 0;
  }

  // The type of a copy with padded rows, for a tensor of at least two axes whose last or second-to-last axis is
  // contiguous.
  static TensorType padded_type(const TensorType& type) {
    const Shape& shape = type.shape();
    const bool columns_adjacent = type.layout.strides[-1] == 1;
    const int64_t elements = kPaddedBytes / size_of(type.dtype);
    TensorType padded = contiguous_type(type.dtype, shape);
    Dims& strides = padded.layout.strides;
    const int64_t leading = align_up(columns_adjacent ? shape[-1] : shape[-2], elements);
    strides[-1] = columns_adjacent ? 1 : leading;
    strides[-2] = columns_adjacent ? leading : 1;
    int64_t stride = leading * (columns_adjacent ? shape[-2] : shape[-1]);
    for (int axis = shape.rank() - 3; axis >= 0; --axis) {
      strides[axis] = stride;
      stride *= shape[axis];
    }
    return padded;
  }

  TensorView padded_piece(const TensorType& padded) {
    pads = true;
    const Size bytes = Size(padded.layout.extent()) * size_of(padded.dtype);
    return {workspace_.take<std::byte>(bytes.value()), padded};
  }

  TensorView piece(const TensorType& type) { return {workspace_.take<std::byte>(type.bytes()), type}; }

  const void* factor(const TensorView& view, DType compute, int64_t rows, int64_t columns,
                     std::optional<TensorView>& copy, BlasMatrix& matrix) {
    const TensorType type = readable_type(view.type, compute, rows, columns);
    matrix = *matrix_of(type, blas.batches, rows, columns);
    if (is_padded_ && type.shape().rank() >= 2 && is_odd(matrix)) {
      const TensorType wide = padded_type(type);
      if (const std::optional<BlasMatrix> padded = matrix_of(wide, blas.batches, rows, columns)) {
        matrix = *padded;
        copy = padded_piece(wide);
        return copy->data;
      }
    }
    if (type == view.type) return device_data(view).data;
    copy = piece(type);
    return copy->data;
  }

  // The type of a factor or, if the library cannot read it, of its copy.
  TensorType readable_type(const TensorType& type, DType compute, int64_t rows, int64_t columns) const {
    if (type.dtype == compute && matrix_of(type, blas.batches, rows, columns)) return type;
    // A copy in the order of the original is faster if its matrices are readable.
    TensorType copy{compute, dense_like(type.layout)};
    if (!matrix_of(copy, blas.batches, rows, columns)) copy = contiguous_type(compute, type.shape());
    return copy;
  }

  // The library reads a bias in the type of the result. A result in float32 of narrower factors has a bias that is
  // rounded like the factors.
  void add_bias(const TensorView& bias, DType compute, DType result) {
    blas.has_bias = true;
    blas.bias = result;
    operands.bias = device_data(bias).data;
    if (bias.type.dtype != compute && compute != result) rounded_bias = piece(contiguous_type(compute, bias.shape()));
    if (!rounded_bias && bias.type.dtype == result && (bias.strides()[0] == 1 || blas.n == 1)) return;
    bias_copy = piece(contiguous_type(result, bias.shape()));
    operands.bias = bias_copy->data;
  }

  // The library can add only a matrix with adjacent columns. Any other addend is copied to the result first, and the
  // product is added to that.
  void add_addend(const TensorView& addend, const TensorView& c) {
    blas.adds_c = true;
    operands.c = operands.d;
    const std::optional<BlasMatrix> direct = matrix_of(addend.type, blas.batches, blas.m, blas.n);
    if (direct && direct->columns_adjacent) {
      blas.c = *direct;
      operands.c = device_data(addend).data;
    } else {
      addend_copy = c;
    }
  }

  bool is_padded_;
  Workspace workspace_;
};

}  // namespace

std::string blas_refusal(const Product& product, const BlasChoice& choice) {
  const DType result = product.c.type.dtype;
  if (product.compute != DType::kFloat32 && !is_16_bit_float(product.compute)) return "factors are not floats";
  if (choice.tf32 && product.compute != DType::kFloat32) return "tf32 is for factors in float32";
  if (result != product.compute && result != DType::kFloat32) return "the result is narrower than its factors";
  if (product.addend != nullptr && product.addend->type.dtype != result) return "the addend has not the result's type";
  const Shape& shape = product.b.shape();
  for (const int64_t size : {shape[-2], shape[-1], product.c.numel() / shape[-1]}) {
    if (size > INT32_MAX) return "a side of a matrix has 2^31 elements or more";
  }
  if (choice.padded && !BlasCall(product, choice, nullptr).pads) return "all rows begin at multiples of 16 bytes";
  return "";
}

int64_t blas_workspace(const Product& product, const BlasChoice& choice) {
  return BlasCall(product, choice, nullptr).bytes();
}

void prepare_blas(const Product& product, const BlasChoice& choice, Queue& queue) {
  queue.prepare(BlasCall(product, choice, nullptr).blas);
}

void launch_blas(const KernelCall& call, const Product& product, const BlasChoice& choice) {
  const BlasCall blas(product, choice, call.workspace);
  if (blas.a_copy) launch_move(call, product.a, *blas.a_copy);
  if (blas.b_copy) launch_move(call, product.b, *blas.b_copy);
  if (blas.rounded_bias) launch_move(call, *product.bias, *blas.rounded_bias);
  if (blas.bias_copy) launch_move(call, blas.rounded_bias ? *blas.rounded_bias : *product.bias, *blas.bias_copy);
  if (blas.addend_copy) launch_move(call, *product.addend, *blas.addend_copy);
  static_cast<Queue&>(call.queue).launch(blas.blas, blas.operands);
  if (blas.c_copy) launch_move(call, *blas.c_copy, product.c);
}

}  // namespace laptime::cuda
