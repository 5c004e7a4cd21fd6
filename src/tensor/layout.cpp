// Layouts of views and of new tensors, and broadcast shapes.
#include "tensor/layout.h"

namespace laptime {

Layout Layout::contiguous(const Shape& shape) {
  Layout layout{shape, Dims::filled(shape.rank(), 1), 0};
  for (int i = shape.rank() - 2; i >= 0; --i) {
    layout.strides[i] = (Size(layout.strides[i + 1]) * std::max<int64_t>(shape[i + 1], 1)).value();
  }
  return layout;
}

bool Layout::is_contiguous() const {
  int64_t expected = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

int64_t Layout::extent() const {
  Size last = offset;
  for (int i = 0; i < rank(); ++i) {
    if (shape[i] == 0) return 0;
    last += Size(shape[i] - 1) * strides[i];
  }
  return (last + 1).value();
}

Layout permuted(const Layout& in, const Dims& axes) {
  LAPTIME_CHECK(axes.rank() == in.rank(), "{} axes for {}", axes.rank(), in.shape.text());
  Layout out{{}, {}, in.offset};
  for (const int64_t axis : axes) {
    out.shape.push_back(in.shape[static_cast<int>(axis)]);
    out.strides.push_back(in.strides[static_cast<int>(axis)]);
  }
  return out;
}

Layout expanded(const Layout& in, const Shape& shape) {
  LAPTIME_CHECK(shape.rank() >= in.rank(), "{} to {}", in.shape.text(), shape.text());
  Layout out{shape, Dims::filled(shape.rank(), 0), in.offset};
  const int lead = shape.rank() - in.rank();
  for (int i = 0; i < in.rank(); ++i) {
    LAPTIME_CHECK(in.shape[i] == shape[lead + i] || in.shape[i] == 1, "{} to {}", in.shape.text(), shape.text());
    out.strides[lead + i] = in.shape[i] == shape[lead + i] ? in.strides[i] : 0;
  }
  return out;
}

Layout sliced(const Layout& in, int axis, int64_t begin, int64_t size, int64_t step) {
  LAPTIME_CHECK(begin >= 0 && size > 0 && step > 0 && begin + (size - 1) * step < in.shape[axis], "{}+{}*{} of {}",
                begin, size, step, in.shape[axis]);
  Layout out = in;
  out.offset += begin * in.strides[axis];
  out.shape[axis] = size;
  out.strides[axis] = in.strides[axis] * step;
  return out;
}

std::optional<Layout> reshaped(const Layout& in, const Shape& shape) {
  LAPTIME_CHECK(in.shape.product() == shape.product(), "{} to {}", in.shape.text(), shape.text());
  // Merges the input's axes into runs without gaps, then splits each run into the wanted sizes (torch's computeStride).
  Layout out{shape, Dims::filled(shape.rank(), 1), in.offset};
  int to = shape.rank() - 1;
  int64_t run_size = 1;
  int64_t run_stride = in.rank() > 0 ? in.strides[-1] : 1;
  for (int from = in.rank() - 1; from >= 0; --from) {
    run_size *= in.shape[from];
    const bool run_ends = from == 0 || (in.shape[from - 1] != 1 && in.strides[from - 1] != run_size * run_stride);
    if (!run_ends) continue;
    int64_t cut = 1;
    while (to >= 0 && (cut < run_size || shape[to] == 1)) {
      out.strides[to] = cut * run_stride;
      cut *= shape[to];
      --to;
    }
    if (cut != run_size) return std::nullopt;
    if (from > 0) {
      run_size = 1;
      run_stride = in.strides[from - 1];
    }
  }
  return out;
}

Layout dense_like(const Layout& in) {
  // The axes from innermost to outermost, by stride. Axes of equal stride keep their order; axes of stride 0
  // (broadcast) or size 1 keep their places.
  std::array<int, kMaxRank> order{};
  for (int i = 0; i < in.rank(); ++i) order[static_cast<size_t>(i)] = in.rank() - 1 - i;
  const auto before = [&](int a, int b) {
    return in.strides[a] != 0 && in.strides[b] != 0 && in.shape[a] != 1 && in.shape[b] != 1 &&
           in.strides[a] < in.strides[b];
  };
  for (int i = 1; i < in.rank(); ++i) {  // insertion sort: before() is not the strict weak order that std::sort needs
    for (int k = i; k > 0 && before(order[static_cast<size_t>(k)], order[static_cast<size_t>(k - 1)]); --k) {
      std::swap(order[static_cast<size_t>(k)], order[static_cast<size_t>(k - 1)]);
    }
  }
  Layout out{in.shape, Dims::filled(in.rank(), 1), 0};
  int64_t stride = 1;
  for (int i = 0; i < in.rank(); ++i) {
    const int axis = order[static_cast<size_t>(i)];
    out.strides[axis] = stride;
    stride = (Size(stride) * std::max<int64_t>(in.shape[axis], 1)).value();
  }
  // Normalises the layout: if nothing is permuted, the result equals the contiguous one.
  const Layout contiguous = Layout::contiguous(in.shape);
  return out.is_contiguous() ? contiguous : out;
}

Shape broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out = Dims::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const int64_t left = i <= a.rank() ? a[-i] : 1;
    const int64_t right = i <= b.rank() ? b[-i] : 1;
    LAPTIME_CHECK(left == right || left == 1 || right == 1, "{} with {}", a.text(), b.text());
    out[-i] = left == 1 ? right : left;
  }
  return out;
}

std::string TensorType::text() const {
  std::string text = fmt::format("{} {}", name_of(dtype), shape().text());
  if (!layout.is_contiguous()) text += fmt::format(" strides {}", layout.strides.text());
  if (layout.offset != 0) text += fmt::format(" offset {}", layout.offset);
  return text;
}

Layout pointwise_layout(const Shape& out, std::span<const TensorType> in) {
  for (const TensorType& type : in) {
    if (type.shape() == out) return dense_like(type.layout);
  }
  return Layout::contiguous(out);
}

TensorType contiguous_type(DType dtype, const Shape& shape) { return {dtype, Layout::contiguous(shape)}; }

TensorType padded_type(DType dtype, const Shape& shape) {
  TensorType type = contiguous_type(dtype, shape);
  if (shape.rank() < 2) return type;
  const int64_t row_bytes = (Size(shape.back()) * size_of(dtype)).value();
  const bool is_long = row_bytes >= 8 * kMemoryLineBytes;
  Shape wide = shape;
  wide[-1] = align_up(row_bytes, is_long ? kMemoryLineBytes : kWidestAccessBytes) / size_of(dtype);
  type.layout.strides = Layout::contiguous(wide).strides;
  return type;
}

}  // namespace laptime
