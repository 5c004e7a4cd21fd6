// Kernels of RoPE: rows of pairs turned by the tables' angle, in the order in which they stand in memory.
#include "ops/rope/rope.h"

#include <cstring>

#include "backend/cpu/convert.h"
#include "backend/cpu/strips.h"

namespace laptime::LAPTIME_ISA {
namespace {

constexpr int64_t kRowBuffers = 4;  // x, y, cos, sin
constexpr int64_t kLargestHead = cpu::Team::kScratchBytes / (kRowBuffers * static_cast<int64_t>(sizeof(float)));

// One row of half pairs. x and y may be the same row where both have it in pairs, else they have nothing in common.
using TurnRow = void (*)(const std::byte* x, const float* cos, const float* sin, std::byte* y, int64_t half);

// halves: the output has first components in one half and second ones in the other; back: the input has, and the turn
// goes the other way.
template <class In, class Out, bool halves, bool back>
void turn_row(const std::byte* x_bytes, const float* cos, const float* sin, std::byte* y_bytes, int64_t half) {
  const In* x = reinterpret_cast<const In*>(x_bytes);
  Out* y = reinterpret_cast<Out*>(y_bytes);
  constexpr bool kFromHalves = halves && back;
  constexpr bool kToHalves = halves && !back;
#pragma omp simd
  for (int64_t i = 0; i < half; ++i) {
    const float x1 = widened(x[kFromHalves ? i : 2 * i]);
    const float x2 = widened(x[kFromHalves ? half + i : 2 * i + 1]);
    const float c = cos[i];
    const float s = back ? -sin[i] : sin[i];
    y[kToHalves ? i : 2 * i] = narrowed<Out>(c * x1 - s * x2);
    y[kToHalves ? half + i : 2 * i + 1] = narrowed<Out>(s * x1 + c * x2);
  }
}

template <class In, class Out>
TurnRow turn_of(bool halves, bool back) {
  if (halves) return back ? turn_row<In, Out, true, true> : turn_row<In, Out, true, false>;
  return back ? turn_row<In, Out, false, true> : turn_row<In, Out, false, false>;
}
template <class In>
TurnRow turn_of(DType out, bool halves, bool back) {
  return out == DType::kBFloat16 ? turn_of<In, Brain>(halves, back) : turn_of<In, float>(halves, back);
}
TurnRow turn_of(DType in, DType out, bool halves, bool back) {
  return in == DType::kBFloat16 ? turn_of<Brain>(out, halves, back) : turn_of<float>(out, halves, back);
}

bool is_direct(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kBFloat16; }

// A row of a tensor, read where it stands or by way of a buffer.
struct Row {
  const TensorView* tensor;
  int64_t stride;
  bool direct;  // its elements are what turn_row takes

  explicit Row(const TensorView& view)
      : tensor(&view), stride(view.strides().back()), direct(stride == 1 && is_direct(view.type.dtype)) {}
  DType turned_type() const { return direct ? tensor->type.dtype : DType::kFloat32; }
  std::byte* at(int64_t position) const { return tensor->data + position * size_of(tensor->type.dtype); }
};

// The axes before the last, one axis of the nest for those that need not be apart.
Layout leading(const TensorView& view) {
  Layout layout = view.type.layout;
  layout.shape.erase(layout.rank() - 1);
  layout.strides.erase(layout.strides.rank() - 1);
  return layout;
}

// Whole rows: a strip of this cut is a run of them.
StripCut cut_rows(const cpu::LoopNest& nest, int64_t elements_of_row) {
  const int64_t rows = nest.columns();
  StripCut cut;
  cut.cut_axis = nest.rank - 1;
  cut.length = rows < Rows::per_block(elements_of_row) ? rows : Rows::per_block(elements_of_row);
  cut.per_axis = cut.length == 0 ? 0 : (rows + cut.length - 1) / cut.length;
  cut.count = cut.per_axis;
  for (int axis = 0; axis < cut.cut_axis; ++axis) cut.count *= nest.size[static_cast<size_t>(axis)];
  cut.per_block = cut.length == 0 ? 1 : Rows::per_block(elements_of_row * cut.length);
  return cut;
}

void turn(const KernelCall& call, bool back) {
  const bool halves = call.attributes.as<RopeAttributes>().form == RopeForm::kHalves;
  const Row x(call.in[0]);
  const Row y(call.out[0]);
  const TensorView& cos = call.in[1];
  const TensorView& sin = call.in[2];
  const int64_t width = call.in[0].shape().back();
  const int64_t half = width / 2;
  const auto row_bytes = static_cast<size_t>(width * size_of(x.tensor->type.dtype));
  const bool overwrites = halves && x.tensor->data == y.tensor->data;  // elements change places
  const TurnRow turn_row = turn_of(x.turned_type(), y.turned_type(), halves, back);

  const std::array<Layout, 4> axes{leading(*y.tensor), leading(*x.tensor), leading(cos), leading(sin)};
  const Layout* const layouts[] = {&axes[0], &axes[1], &axes[2], &axes[3]};
  const cpu::LoopNest nest = cpu::memory_order_nest(axes[0].shape, layouts);
  const StripCut cut = cut_rows(nest, width);
  cpu::Team& team = cpu::team_of(call);
  team.parallel_for((cut.count + cut.per_block - 1) / cut.per_block, [&](int64_t block, int lane) {
    auto* x_buffer = reinterpret_cast<float*>(team.scratch(lane));
    float* y_buffer = x_buffer + kLargestHead;
    float* cos_buffer = y_buffer + kLargestHead;
    float* sin_buffer = cos_buffer + kLargestHead;
    const int64_t first = block * cut.per_block;
    const int64_t last = first + cut.per_block < cut.count ? first + cut.per_block : cut.count;
    StripWalk walk(nest, cut, first);
    for (int64_t strip = first; strip < last; ++strip, walk.next()) {
      for (int64_t row = 0; row < walk.columns(); ++row) {
        const auto position = [&](int operand) { return walk.position(operand) + row * nest.column_stride(operand); };
        const std::byte* from = x.at(position(1));
        if (!x.direct) {
          load_line(*x.tensor, position(1), x.stride, width, x_buffer);
          from = reinterpret_cast<const std::byte*>(x_buffer);
        } else if (overwrites) {
          std::memcpy(x_buffer, from, row_bytes);
          from = reinterpret_cast<const std::byte*>(x_buffer);
        }
        std::byte* to = y.direct ? y.at(position(0)) : reinterpret_cast<std::byte*>(y_buffer);
        turn_row(from, line(cos, position(2), cos.strides().back(), half, cos_buffer),
                 line(sin, position(3), sin.strides().back(), half, sin_buffer), to, half);
        if (!y.direct) store_line(y_buffer, width, *y.tensor, position(0), y.stride);
      }
    }
  });
}

std::string refusal(const Signature& signature) {
  if (signature.in[0].shape().back() > kLargestHead) return "a row that is longer than a thread's scratch";
  return pointwise_refusal(signature);
}

Kernel kernel(const OpCard& op, void (*launch)(const KernelCall&)) {
  return {.op = &op, .name = isa_name("rows"), .supports = refusal, .workspace = nullptr, .launch = launch};
}

}  // namespace

std::vector<Kernel> rope_kernels() {
  return {kernel(kRope, [](const KernelCall& call) { turn(call, false); }),
          kernel(kRopeBackward, [](const KernelCall& call) { turn(call, true); })};
}

}  // namespace laptime::LAPTIME_ISA
