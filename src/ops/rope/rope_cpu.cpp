// Kernels of RoPE: pairs are rotated row by row, in memory order.
#include "ops/rope/rope.h"

#include <cstring>

#include "backend/cpu/vector/convert.h"
#include "backend/cpu/vector/strips.h"

namespace laptime::LAPTIME_ISA {
namespace {

constexpr int64_t kRowBuffers = 4;  // buffers for x, y, cos and sin in rows that must be converted
constexpr int64_t kMaxWidth = cpu::Team::kScratchBytes / (kRowBuffers * static_cast<int64_t>(sizeof(float)));

// Rows of `half` pairs and `rest` copied elements. Strides are in elements. y may overwrite x. If it does, and elements
// move within a row, `copy` points to memory for the pairs of a row; otherwise `copy` is null.
struct RowRun {
  const std::byte* x;
  std::byte* y;
  const float* cos;
  const float* sin;
  int64_t x_stride, y_stride, cos_stride, sin_stride;
  int64_t rows, half, rest;
  float sign;  // factor of sin: -1 rotates back
  std::byte* copy;
};
using RotateRows = void (*)(const RowRun& run);

// Rotates rows. The template arguments state the positions of pairs in x and y, as in RopePlaces.
template <class In, class Out, bool from_halves, bool to_halves>
void rotate_rows(const RowRun& run) {
  const int64_t half = run.half;
  const float sign = run.sign;
  const In* x_row = reinterpret_cast<const In*>(run.x);
  Out* y = reinterpret_cast<Out*>(run.y);
  const float* cos = run.cos;
  const float* sin = run.sin;
  for (int64_t row = 0; row < run.rows; ++row) {
    const In* x = x_row;
    if (from_halves != to_halves && run.copy != nullptr) {
      std::memcpy(run.copy, x_row, static_cast<size_t>(2 * half) * sizeof(In));
      x = reinterpret_cast<const In*>(run.copy);
    }
#pragma omp simd
    for (int64_t i = 0; i < half; ++i) {
      const float x1 = widened(x[from_halves ? i : 2 * i]);
      const float x2 = widened(x[from_halves ? half + i : 2 * i + 1]);
      const float c = cos[i];
      const float s = sign * sin[i];
      y[to_halves ? i : 2 * i] = narrowed<Out>(c * x1 - s * x2);
      y[to_halves ? half + i : 2 * i + 1] = narrowed<Out>(s * x1 + c * x2);
    }
    for (int64_t i = 2 * half; i < 2 * half + run.rest; ++i) y[i] = narrowed<Out>(widened(x_row[i]));
    x_row += run.x_stride;
    y += run.y_stride;
    cos += run.cos_stride;
    sin += run.sin_stride;
  }
}

template <class In, class Out>
RotateRows rotate_rows_for(RopePlaces places) {
  if (places.from_halves)
    return places.to_halves ? rotate_rows<In, Out, true, true> : rotate_rows<In, Out, true, false>;
  return places.to_halves ? rotate_rows<In, Out, false, true> : rotate_rows<In, Out, false, false>;
}
// Returns the instance of rotate_rows for x of type `in` and y of type `out`. Each type is float32 or the 16-bit type
// `Narrow`.
template <class Narrow>
RotateRows rotate_rows_for(DType in, DType out, RopePlaces places) {
  const bool to_float = out == DType::kFloat32;
  if (in == DType::kFloat32)
    return to_float ? rotate_rows_for<float, float>(places) : rotate_rows_for<float, Narrow>(places);
  return to_float ? rotate_rows_for<Narrow, float>(places) : rotate_rows_for<Narrow, Narrow>(places);
}
RotateRows rotate_rows_for(DType in, DType out, RopePlaces places) {
  const bool has_float16 = in == DType::kFloat16 || out == DType::kFloat16;
  return has_float16 ? rotate_rows_for<Float16>(in, out, places) : rotate_rows_for<BFloat16>(in, out, places);
}

// A tensor whose rows rotate_rows accesses directly, or through a float32 buffer.
struct Operand {
  const TensorView* tensor;
  int64_t stride;
  bool direct;

  Operand(const TensorView& view, bool takes_16_bits)
      : tensor(&view),
        stride(view.strides().back()),
        direct(stride == 1 &&
               (view.type.dtype == DType::kFloat32 || (takes_16_bits && is_16_bit_float(view.type.dtype)))) {}
  DType rotated_type() const { return direct ? tensor->type.dtype : DType::kFloat32; }
  std::byte* at(int64_t position) const { return tensor->data + position * size_of(tensor->type.dtype); }
};

// The layout of the axes before the last one.
Layout leading(const TensorView& view) {
  Layout layout = view.type.layout;
  layout.shape.erase(layout.rank() - 1);
  layout.strides.erase(layout.strides.rank() - 1);
  return layout;
}

// Divides a nest of rows into strips of whole rows.
StripCut cut_rows(const LoopNest& nest, int64_t elements_of_row) {
  const int64_t rows = nest.columns();
  StripCut cut;
  cut.cut_axis = nest.rank - 1;
  cut.length = rows < Rows::per_block(elements_of_row) ? rows : Rows::per_block(elements_of_row);
  cut.per_axis = cut.length == 0 ? 0 : ceil_div(rows, cut.length);
  cut.count = cut.per_axis;
  for (int axis = 0; axis < cut.cut_axis; ++axis) cut.count *= nest.size[static_cast<size_t>(axis)];
  cut.per_block = cut.length == 0 ? 1 : Rows::per_block(elements_of_row * cut.length);
  return cut;
}

struct Rotation {
  Operand y, x, cos, sin;
  RotateRows rows;
  int64_t width, half;
  float sign;
  bool overwrites;  // true if y overwrites x and elements move within a row

  Rotation(const KernelCall& call, bool inverse)
      : y(call.out[0], true),
        x(call.in[0], true),
        cos(call.in[1], false),
        sin(call.in[2], false),
        width(call.in[0].shape().back()),
        half(rotated_width(call.attributes.as<RopeAttributes>().form, call.in[1].shape().back()) / 2),
        sign(inverse ? -1.0F : 1.0F) {
    const DType from = x.rotated_type();
    const DType to = y.rotated_type();
    if (is_16_bit_float(from) && is_16_bit_float(to) && from != to)
      x.direct = false;  // only one of the two 16-bit types can be accessed directly
    const RopePlaces places(call.attributes.as<RopeAttributes>().form, inverse);
    rows = rotate_rows_for(x.rotated_type(), y.rotated_type(), places);
    overwrites = places.from_halves != places.to_halves && call.in[0].data == call.out[0].data;
  }

  // Rotates the rows of a strip; the operands of the nest are y, x, cos, sin.
  void operator()(const LoopNest& nest, const StripWalk& walk, float* scratch) const {
    float* x_buffer = scratch;
    if (y.direct && x.direct && cos.direct && sin.direct) {
      rows({.x = x.at(walk.position(1)),
            .y = y.at(walk.position(0)),
            .cos = reinterpret_cast<const float*>(cos.at(walk.position(2))),
            .sin = reinterpret_cast<const float*>(sin.at(walk.position(3))),
            .x_stride = nest.column_stride(1),
            .y_stride = nest.column_stride(0),
            .cos_stride = nest.column_stride(2),
            .sin_stride = nest.column_stride(3),
            .rows = walk.columns(),
            .half = half,
            .rest = width - 2 * half,
            .sign = sign,
            .copy = overwrites ? reinterpret_cast<std::byte*>(x_buffer) : nullptr});
      return;
    }
    float* y_buffer = x_buffer + width;
    float* cos_buffer = y_buffer + width;
    float* sin_buffer = cos_buffer + width;
    for (int64_t row = 0; row < walk.columns(); ++row) {
      const auto position = [&](int operand) { return walk.position(operand) + row * nest.column_stride(operand); };
      RowRun run{.x = x.at(position(1)),
                 .y = y.direct ? y.at(position(0)) : reinterpret_cast<std::byte*>(y_buffer),
                 .cos = float_elements(*cos.tensor, position(2), cos.stride, half, cos_buffer),
                 .sin = float_elements(*sin.tensor, position(3), sin.stride, half, sin_buffer),
                 .x_stride = 0,
                 .y_stride = 0,
                 .cos_stride = 0,
                 .sin_stride = 0,
                 .rows = 1,
                 .half = half,
                 .rest = width - 2 * half,
                 .sign = sign,
                 .copy = overwrites ? reinterpret_cast<std::byte*>(x_buffer) : nullptr};
      if (!x.direct) {
        load_elements(*x.tensor, position(1), x.stride, width, x_buffer);
        run.x = reinterpret_cast<const std::byte*>(x_buffer);
        run.copy = nullptr;
      }
      rows(run);
      if (!y.direct) store_elements(y_buffer, width, *y.tensor, position(0), y.stride);
    }
  }
};

// (x [..., T, d_head], cos [T, ...], sin [T, ...]) -> y [..., T, d_head]
void launch_rotation(const KernelCall& call, bool inverse) {
  const Rotation rotation(call, inverse);
  const std::array<Layout, 4> axes{leading(call.out[0]), leading(call.in[0]), leading(call.in[1]), leading(call.in[2])};
  const Layout* const layouts[] = {&axes[0], &axes[1], &axes[2], &axes[3]};
  const LoopNest nest = memory_order_nest(axes[0].shape, layouts);
  const StripCut cut = cut_rows(nest, rotation.width);
  cpu::Team& team = cpu::team_of(call);
  team.parallel_ranges(ceil_div(cut.count, cut.per_block), [&](int64_t block, int thread) {
    const int64_t first = block * cut.per_block;
    const int64_t last = first + cut.per_block < cut.count ? first + cut.per_block : cut.count;
    StripWalk walk(nest, cut, first);
    for (int64_t strip = first; strip < last; ++strip, walk.next())
      rotation(nest, walk, reinterpret_cast<float*>(team.scratch(thread)));
  });
}

std::string refusal(const Signature& signature) {
  if (signature.in[0].shape().back() > kMaxWidth) return "a row does not fit in the scratch of a thread";
  return pointwise_refusal(signature);
}

Kernel kernel(const OpCard& op, void (*launch)(const KernelCall&)) {
  return {.op = &op, .name = isa_name("rows"), .supports = refusal, .launch = launch};
}

}  // namespace

std::vector<Kernel> rope_kernels() {
  return {kernel(kRope, [](const KernelCall& call) { launch_rotation(call, false); }),
          kernel(kRopeBackward, [](const KernelCall& call) { launch_rotation(call, true); })};
}

}  // namespace laptime::LAPTIME_ISA
