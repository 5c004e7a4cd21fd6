// Layout: where the elements of a tensor are in its storage, and how views change that.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace laptime {

// Element (i0, i1, ...) of a tensor is at offset + sum(i_k * stride_k), counted in elements from the start of the
// storage.
struct Layout {
  Shape shape;
  Dims strides;
  int64_t offset = 0;

  static Layout contiguous(const Shape& shape);

  int64_t numel() const { return shape.product(); }
  int rank() const { return shape.rank(); }
  // Row-major without gaps; axes of size 1 may have any stride.
  bool is_contiguous() const;
  // The minimum size of the storage in elements, including the offset; 0 if the tensor has no elements.
  int64_t extent() const;

  friend bool operator==(const Layout&, const Layout&) = default;
};

Layout permuted(const Layout& in, const Dims& axes);    // axis k of the result is axis axes[k] of `in`
Layout expanded(const Layout& in, const Shape& shape);  // broadcast to `shape` with stride 0
// The `size` elements begin, begin + step, ... along `axis`. LAPTIME_CHECK fails unless all are within the axis, and
// `size` and `step` are positive.
Layout sliced(const Layout& in, int axis, int64_t begin, int64_t size, int64_t step);
// Keeps the order of the elements but changes the shape; empty if that requires a copy.
std::optional<Layout> reshaped(const Layout& in, const Shape& shape);

// A layout without gaps whose axes have the same order in memory as those of `in`; axes of stride 0 (broadcast) or
// size 1 keep their places.
Layout dense_like(const Layout& in);

// The shape to which two shapes broadcast (last axes aligned; size 1 stretches). LAPTIME_CHECK fails if there is none.
Shape broadcast(const Shape& a, const Shape& b);

// Data type and layout: everything known about a tensor except its contents.
struct TensorType {
  DType dtype = DType::kFloat32;
  Layout layout;

  const Shape& shape() const { return layout.shape; }
  int64_t numel() const { return layout.numel(); }
  int64_t bytes() const { return (Size(numel()) * size_of(dtype)).value(); }
  // The bytes of the storage that a value of this type needs, including gaps between its elements.
  int64_t storage_bytes() const { return (Size(layout.extent()) * size_of(dtype)).value(); }
  std::string text() const;  // "float32 [3, 18, 40]"; adds the strides unless contiguous, and the offset unless 0

  friend bool operator==(const TensorType&, const TensorType&) = default;
};

TensorType contiguous_type(DType dtype, const Shape& shape);

// Sizes in bytes of a GPU's widest memory access and of its cache lines.
inline constexpr int64_t kWidestAccessBytes = 16, kMemoryLineBytes = 128;
// Row-major, with a gap after each row so that the next one begins at a multiple of kMemoryLineBytes or, if rows are
// shorter than eight lines, of kWidestAccessBytes. Nothing reads or writes the gaps. A tensor with fewer than two axes
// has no gaps.
TensorType padded_type(DType dtype, const Shape& shape);

// The layout that a pointwise op allocates: dense_like() of the first input with the shape `out`, or contiguous if no
// input has that shape.
Layout pointwise_layout(const Shape& out, std::span<const TensorType> in);

}  // namespace laptime
