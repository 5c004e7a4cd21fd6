// Layout: where the elements of a tensor stand in its storage; what views do to it.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace laptime {

// Element (i0, i1, ...) of a tensor stands at offset + sum(i_k * stride_k), counted in elements from the storage's
// start.
struct Layout {
  Shape shape;
  Dims strides;
  int64_t offset = 0;

  static Layout contiguous(const Shape& shape);

  int64_t numel() const { return shape.product(); }
  int rank() const { return shape.rank(); }
  // Row-major without gaps; axes of size 1 may have any stride.
  bool is_contiguous() const;
  // Elements from the first to the last one touched, offset included: what the storage must at least hold.
  int64_t extent() const;

  friend bool operator==(const Layout&, const Layout&) = default;
};

Layout permuted(const Layout& in, const Dims& axes);    // axis k of the result is axes[k]
Layout expanded(const Layout& in, const Shape& shape);  // broadcast to `shape`, stride 0
Layout sliced(const Layout& in, int axis, int64_t begin, int64_t size, int64_t step);
// A view of the elements in the same order under another shape; empty if that needs a copy.
std::optional<Layout> reshaped(const Layout& in, const Shape& shape);

// No gaps, the axes in the same order in memory as `in` has them (broadcast axes first): what a pointwise op allocates.
Layout dense_like(const Layout& in);

// The shape two shapes broadcast to; LAPTIME_CHECK when they do not (right-aligned, 1 stretches).
Shape broadcast(const Shape& a, const Shape& b);

// dtype and layout: all that is known of a tensor without its bytes.
struct TensorType {
  DType dtype = DType::kFloat32;
  Layout layout;

  const Shape& shape() const { return layout.shape; }
  int64_t numel() const { return layout.numel(); }
  int64_t bytes() const { return (Size(numel()) * size_of(dtype)).value(); }
  std::string text() const;  // "float32 [3, 18, 40]", strides added where not contiguous

  friend bool operator==(const TensorType&, const TensorType&) = default;
};

TensorType contiguous_type(DType dtype, const Shape& shape);

// Layout that a pointwise op allocates: that of the first input with the full shape, without gaps.
Layout pointwise_layout(const Shape& out, std::span<const TensorType> in);

}  // namespace laptime
