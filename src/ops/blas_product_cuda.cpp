// Matrix products with cuBLASLt: decides which operands the library reads directly and which are copied first, and pads
// or splits products with unaligned rows.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "backend/cuda/libraries/blas_products.h"
#include "backend/workspace.h"
#include "ops/move_cuda.h"
#include "ops/product_cuda.h"

namespace laptime::cuda {
namespace {

constexpr uint32_t kAlignment = 16;  // bytes of the widest load of a thread

uint32_t alignment_of(const TensorType& type) {
  const auto begin = static_cast<uint64_t>(type.layout.offset * size_of(type.dtype));
  return begin == 0 ? kAlignment : static_cast<uint32_t>(std::min<uint64_t>(kAlignment, begin & (~begin + 1)));
}

// Describes the tensor as matrices [batches, rows, columns]; nothing if the library cannot read them in place.
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

// True if rows or columns start at addresses that are not multiples of 16 bytes.
bool is_odd(const BlasMatrix& matrix) {
  return matrix.alignment < kAlignment || matrix.leading * size_of(matrix.dtype) % kAlignment != 0;
}

// The type of a factor or, if the library cannot read the factor, of a copy that it can read.
TensorType readable_type(const TensorType& type, DType compute, int64_t batches, int64_t rows, int64_t columns) {
  if (type.dtype == compute && matrix_of(type, batches, rows, columns)) return type;
  // A copy with the axis order of the original is faster, if the library can read its matrices.
  TensorType copy{compute, dense_like(type.layout)};
  if (!matrix_of(copy, batches, rows, columns)) copy = contiguous_type(compute, type.shape());
  return copy;
}

int64_t batches_of(const Product& product) { return product.b.shape().rank() == 3 ? product.b.shape()[0] : 1; }

TensorView slice_of(const TensorView& view, int axis, int64_t begin, int64_t size) {
  return {view.data, {view.type.dtype, sliced(view.type.layout, axis, begin, size, 1)}};
}

// A product as cuBLASLt describes it, and the copies that must precede it.
class BlasCall {
 public:
  // If `memory` is null, only describes the product and counts the bytes of the workspace.
  BlasCall(const Product& product, const BlasChoice& choice, std::byte* memory) : workspace_(memory) {
    const TensorView& c = product.c;
    const Shape& b_shape = product.b.shape();
    blas.batches = batches_of(product);
    blas.k = b_shape[-2];
    blas.n = b_shape[-1];
    blas.m = c.numel() / (blas.n * blas.batches);
    blas.d = *matrix_of(c.type, blas.batches, blas.m, blas.n);
    blas.algorithm = choice.algorithm;
    blas.tf32 = choice.tf32;
    blas.any_order = choice.any_order;
    operands.d = device_data(c).data;
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
  // The bias rounded to the type of the factors. bias_copy then holds it in the type of the result.
  std::optional<TensorView> rounded_bias;

 private:
  TensorView piece(const TensorType& type) { return {workspace_.take<std::byte>(type.bytes()), type}; }

  const void* factor(const TensorView& view, DType compute, int64_t rows, int64_t columns,
                     std::optional<TensorView>& copy, BlasMatrix& matrix) {
    const TensorType type = readable_type(view.type, compute, blas.batches, rows, columns);
    matrix = *matrix_of(type, blas.batches, rows, columns);
    if (type == view.type) return device_data(view).data;
    copy = piece(type);
    return copy->data;
  }

  // The library reads a bias in the type of the result. If the result is float32 and the factors are narrower, the bias
  // is first rounded to the type of the factors.
  void add_bias(const TensorView& bias, DType compute, DType result) {
    blas.has_bias = true;
    blas.bias = result;
    operands.bias = device_data(bias).data;
    if (bias.type.dtype != compute && compute != result) rounded_bias = piece(contiguous_type(compute, bias.shape()));
    if (!rounded_bias && bias.type.dtype == result && (bias.strides()[0] == 1 || blas.n == 1)) return;
    bias_copy = piece(contiguous_type(result, bias.shape()));
    operands.bias = bias_copy->data;
  }

  // The library can add only a matrix with adjacent columns. Any other addend is first copied to the result, and the
  // product is then added to it.
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

  Workspace workspace_;
};

void launch_direct(const KernelCall& call, const Product& product, const BlasChoice& choice, std::byte* memory) {
  const BlasCall blas(product, choice, memory);
  if (blas.a_copy) launch_move(call, product.a, *blas.a_copy);
  if (blas.b_copy) launch_move(call, product.b, *blas.b_copy);
  if (blas.rounded_bias) launch_move(call, *product.bias, *blas.rounded_bias);
  if (blas.bias_copy) launch_move(call, blas.rounded_bias ? *blas.rounded_bias : *product.bias, *blas.bias_copy);
  if (blas.addend_copy) launch_move(call, *product.addend, *blas.addend_copy);
  static_cast<Queue&>(call.queue).launch(blas.blas, blas.operands);
}

// A copy of an operand in padded memory.
struct PaddedCopy {
  TensorView whole;  // including the padding
  TensorView part;   // without the padding
};

// A product whose dimensions are rounded up to multiples of 16 bytes, so that every row is aligned: the library has
// only slow algorithms for unaligned rows. Operands whose shape or alignment changes are copied.
class PaddedProduct {
 public:
  // If `memory` is null, only describes the product and counts the bytes of the workspace.
  PaddedProduct(const Product& original, std::byte* memory) : rounded(original), workspace_(memory) {
    const Shape& b_shape = original.b.shape();
    const int64_t batches = batches_of(original);
    const int64_t k = b_shape[-2];
    const int64_t n = b_shape[-1];
    const int64_t m = original.c.numel() / (n * batches);
    if (original.a.shape().rank() < 2) return;
    const TensorType a = readable_type(original.a.type, original.compute, batches, m, k);
    const TensorType b = readable_type(original.b.type, original.compute, batches, k, n);
    const BlasMatrix a_matrix = *matrix_of(a, batches, m, k);
    const BlasMatrix b_matrix = *matrix_of(b, batches, k, n);
    const int64_t elements = kAlignment / size_of(original.compute);
    // Only the dimension along which elements are adjacent must be rounded up. If `a` has several row axes, m is not
    // padded.
    const bool rounds_m = !a_matrix.columns_adjacent && a.shape().rank() == b_shape.rank();
    const bool rounds_k = a_matrix.columns_adjacent || !b_matrix.columns_adjacent;
    const int64_t wide_m = rounds_m ? align_up(m, elements) : m;
    const int64_t wide_k = rounds_k ? align_up(k, elements) : k;
    const int64_t wide_n = align_up(n, elements);
    if (is_odd(a_matrix) || wide_m != m || wide_k != k)
      a_copy = padded(original.a, original.compute, a_matrix.columns_adjacent, wide_m - m, wide_k - k);
    if (is_odd(b_matrix) || wide_k != k || wide_n != n)
      b_copy = padded(original.b, original.compute, b_matrix.columns_adjacent, wide_k - k, wide_n - n);
    if (is_odd(*matrix_of(original.c.type, batches, m, n)) || wide_m != m || wide_n != n)
      c_copy = padded(original.c, original.c.type.dtype, true, wide_m - m, wide_n - n);
    if (a_copy) rounded.a = a_copy->whole;
    if (b_copy) rounded.b = b_copy->whole;
    if (c_copy) rounded.c = c_copy->whole;
    if (original.bias != nullptr && wide_n != n) {
      const TensorView whole = piece(contiguous_type(original.bias->type.dtype, {wide_n}));
      bias_copy = {whole, {whole.data, contiguous_type(original.bias->type.dtype, {n})}};
    }
    added_k_ = wide_k - k;
  }

  bool pads() const { return a_copy || b_copy || c_copy; }
  // Returns the product to compute, which refers to this object.
  const Product& product() {
    if (bias_copy) rounded.bias = &bias_copy->whole;
    return rounded;
  }
  int64_t bytes() const { return workspace_.bytes(); }

  // The padding of `a` (columns) and of `b` (rows) beyond the original k. It must be filled with 0.
  TensorView added_columns() const { return added(*a_copy, -1); }
  TensorView added_rows() const { return added(*b_copy, -2); }
  bool adds_k() const { return added_k_ > 0; }

  Product rounded;
  std::optional<PaddedCopy> a_copy, b_copy, bias_copy, c_copy;

 private:
  TensorView piece(const TensorType& type) {
    const Size bytes = Size(type.layout.extent()) * size_of(type.dtype);
    return {workspace_.take<std::byte>(bytes.value()), type};
  }

  PaddedCopy padded(const TensorView& view, DType dtype, bool columns_adjacent, int64_t more_rows,
                    int64_t more_columns) {
    Shape shape = view.shape();
    shape[-2] += more_rows;
    shape[-1] += more_columns;
    TensorType type = contiguous_type(dtype, shape);
    Dims& strides = type.layout.strides;
    const int64_t leading = align_up(columns_adjacent ? shape[-1] : shape[-2], kMemoryLineBytes / size_of(dtype));
    strides[-1] = columns_adjacent ? 1 : leading;
    strides[-2] = columns_adjacent ? leading : 1;
    int64_t stride = leading * (columns_adjacent ? shape[-2] : shape[-1]);
    for (int axis = shape.rank() - 3; axis >= 0; --axis) {
      strides[axis] = stride;
      stride *= shape[axis];
    }
    const TensorView whole = piece(type);
    type.layout.shape = view.shape();
    return {whole, {whole.data, type}};
  }

  // The padding of a copy along an axis.
  static TensorView added(const PaddedCopy& copy, int axis) {
    TensorType type = copy.part.type;
    type.layout.offset = type.layout.shape[axis] * type.layout.strides[axis];
    type.layout.shape[axis] = copy.whole.shape()[axis] - copy.part.shape()[axis];
    return {copy.whole.data, type};
  }

  Workspace workspace_;
  int64_t added_k_ = 0;
};

void launch_padded(const KernelCall& call, const Product& original, const BlasChoice& choice) {
  PaddedProduct padded(original, call.workspace);
  if (padded.a_copy) launch_move(call, original.a, padded.a_copy->part);
  if (padded.b_copy) launch_move(call, original.b, padded.b_copy->part);
  if (padded.bias_copy) launch_move(call, *original.bias, padded.bias_copy->part);
  if (padded.adds_k()) {
    launch_fill(call, padded.added_columns(), 0);
    launch_fill(call, padded.added_rows(), 0);
  }
  launch_direct(call, padded.product(), choice, call.workspace + padded.bytes());
  if (padded.c_copy) launch_move(call, padded.c_copy->part, original.c);
}

// Splits a product in two if all rows are aligned, but one dimension is not a multiple of 16 bytes: `whole` ends at the
// last multiple, and `rest` begins there. If the dimension is k, `rest` is computed first, and `whole` is added to it.
class SplitProduct {
 public:
  explicit SplitProduct(const Product& product) : whole(product), rest(product) {
    const Shape& b_shape = product.b.shape();
    const int64_t batches = batches_of(product);
    const int64_t k = b_shape[-2];
    const int64_t n = b_shape[-1];
    const int64_t m = product.c.numel() / (n * batches);
    for (const TensorView* factor : {&product.a, &product.b}) {
      if (factor->type.dtype != product.compute || factor->shape().rank() < 2) return;
    }
    const std::optional<BlasMatrix> a = matrix_of(product.a.type, batches, m, k);
    const std::optional<BlasMatrix> b = matrix_of(product.b.type, batches, k, n);
    if (!a || !b || is_odd(*a) || is_odd(*b) || is_odd(*matrix_of(product.c.type, batches, m, n))) return;
    const int64_t elements = kAlignment / size_of(product.compute);
    const int64_t odd_m = a->columns_adjacent ? 0 : m % elements;
    const int64_t odd_k = a->columns_adjacent || !b->columns_adjacent ? k % elements : 0;
    const int64_t odd_n = n % elements;
    // If the result is 16-bit, `rest` is rounded before `whole` is added, so `rest` must be a small part of the sum.
    const int64_t least_k = is_16_bit_float(product.c.type.dtype) ? 256 * odd_k : odd_k + 1;
    if (odd_k > 0 && k >= least_k && odd_m + odd_n == 0) {
      split(k - odd_k, k, [](Product& part, int64_t begin, int64_t size) {
        part.a = slice_of(part.a, -1, begin, size);
        part.b = slice_of(part.b, -2, begin, size);
      });
      rest.bias = nullptr;
      whole.addend = &whole.c;
    } else if (odd_n > 0 && odd_n < n && odd_m + odd_k == 0 && product.addend == nullptr) {
      split(n - odd_n, n, [](Product& part, int64_t begin, int64_t size) {
        part.b = slice_of(part.b, -1, begin, size);
        part.c = slice_of(part.c, -1, begin, size);
      });
      if (product.bias == nullptr) return;
      whole_bias_ = slice_of(*product.bias, 0, 0, n - odd_n);
      rest_bias_ = slice_of(*product.bias, 0, n - odd_n, odd_n);
      whole.bias = &whole_bias_;
      rest.bias = &rest_bias_;
    } else if (odd_m > 0 && odd_m < m && odd_k + odd_n == 0 && product.addend == nullptr &&
               product.a.shape().rank() == b_shape.rank()) {
      split(m - odd_m, m, [](Product& part, int64_t begin, int64_t size) {
        part.a = slice_of(part.a, -2, begin, size);
        part.c = slice_of(part.c, -2, begin, size);
      });
    }
  }
  SplitProduct(const SplitProduct&) = delete;
  SplitProduct& operator=(const SplitProduct&) = delete;

  bool splits() const { return splits_; }

  // May point to members of this object. `rest` must be computed first: a split along k adds `whole` to it.
  Product whole, rest;

 private:
  template <class Slice>
  void split(int64_t at, int64_t size, const Slice& slice) {
    slice(whole, 0, at);
    slice(rest, at, size - at);
    splits_ = true;
  }

  bool splits_ = false;
  TensorView whole_bias_, rest_bias_;
};

// The rest uses the first proposal, without tf32: the order of proposals for a small product differs from the order
// for `whole`, and the library may refuse to launch a tf32 product with a tiny k.
BlasChoice choice_of_rest(BlasChoice choice) {
  choice.algorithm = 0;
  choice.tf32 = false;
  return choice;
}

int64_t padded_workspace(const Product& product, const BlasChoice& choice) {
  PaddedProduct padded(product, nullptr);
  return padded.bytes() + BlasCall(padded.product(), choice, nullptr).bytes();
}

void prepare_padded(const Product& product, const BlasChoice& choice, Queue& queue) {
  PaddedProduct padded(product, nullptr);
  queue.prepare(BlasCall(padded.product(), choice, nullptr).blas);
}

}  // namespace

std::string blas_refusal(const Product& product, const BlasChoice& choice) {
  const DType result = product.c.type.dtype;
  if (product.compute != DType::kFloat32 && !is_16_bit_float(product.compute))
    return "factors are not float32, bfloat16 or float16";
  if (choice.tf32 && product.compute != DType::kFloat32) return "TF32 requires float32 factors";
  if (result != product.compute && result != DType::kFloat32)
    return "the result's type is neither float32 nor the type of the factors";
  if (product.addend != nullptr && product.addend->type.dtype != result)
    return "the addend and the result have different types";
  const Shape& shape = product.b.shape();
  for (const int64_t size : {shape[-2], shape[-1], product.c.numel() / shape[-1]}) {
    if (size > INT32_MAX) return "a matrix dimension is 2^31 or more";
  }
  if (!choice.padded) return "";
  if (SplitProduct(product).splits()) return "";
  // If k is this small, the library proposes algorithms that it then refuses to launch.
  if (shape[-2] * size_of(product.compute) < kAlignment) return "the inner dimension is less than 16 bytes";
  const PaddedProduct padded(product, nullptr);
  if (!padded.pads()) return "no operand needs padding";
  return padded.c_copy && product.addend != nullptr ? "the result has unaligned rows and an addend" : "";
}

int64_t blas_workspace(const Product& product, const BlasChoice& choice) {
  if (!choice.padded) return BlasCall(product, choice, nullptr).bytes();
  const SplitProduct split(product);
  if (!split.splits()) return padded_workspace(product, choice);
  return std::max(padded_workspace(split.rest, choice_of_rest(choice)), BlasCall(split.whole, choice, nullptr).bytes());
}

void prepare_blas(const Product& product, const BlasChoice& choice, Queue& queue) {
  if (!choice.padded) return queue.prepare(BlasCall(product, choice, nullptr).blas);
  const SplitProduct split(product);
  if (!split.splits()) return prepare_padded(product, choice, queue);
  prepare_padded(split.rest, choice_of_rest(choice), queue);
  queue.prepare(BlasCall(split.whole, choice, nullptr).blas);
}

void launch_blas(const KernelCall& call, const Product& product, const BlasChoice& choice) {
  if (!choice.padded) return launch_direct(call, product, choice, call.workspace);
  const SplitProduct split(product);
  if (!split.splits()) return launch_padded(call, product, choice);
  launch_padded(call, split.rest, choice_of_rest(choice));
  launch_direct(call, split.whole, choice, call.workspace);
}

}  // namespace laptime::cuda
