// Kernels of the ops that move bytes: copies of any layout, casts, fills, and gradients of slices.
#include "ops/copy/copy.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/vector/copy_elements.h"
#include "backend/cpu/vector/strips.h"

namespace laptime::LAPTIME_ISA {
namespace {

using cpu::Team;

// ---- casts

template <class Value>
void load_wide(const TensorView& from, int64_t position, int64_t stride, int64_t size, double* to) {
  const Value* data = reinterpret_cast<const Value*>(from.data) + position;
  for (int64_t i = 0; i < size; ++i) to[i] = static_cast<double>(data[i * stride]);
}

template <class Value>
void store_wide(const double* from, int64_t size, const TensorView& to, int64_t position, int64_t stride) {
  Value* data = reinterpret_cast<Value*>(to.data) + position;
  for (int64_t i = 0; i < size; ++i) data[i * stride] = static_cast<Value>(from[i]);
}

// Loads elements as double, which represents every float32 and every integer up to 2^53 exactly.
void load_wide_line(const TensorView& from, int64_t position, int64_t stride, int64_t size, double* to) {
  switch (from.type.dtype) {
    case DType::kFloat64: return load_wide<double>(from, position, stride, size, to);
    case DType::kInt64: return load_wide<int64_t>(from, position, stride, size, to);
    case DType::kInt32: return load_wide<int32_t>(from, position, stride, size, to);
    default: break;
  }
  std::array<float, kStripSize> narrow;
  load_elements(from, position, stride, size, narrow.data());
  for (int64_t i = 0; i < size; ++i) to[i] = narrow[static_cast<size_t>(i)];
}

void store_wide_line(const double* from, int64_t size, const TensorView& to, int64_t position, int64_t stride) {
  switch (to.type.dtype) {
    case DType::kFloat64: return store_wide<double>(from, size, to, position, stride);
    case DType::kInt64: return store_wide<int64_t>(from, size, to, position, stride);
    case DType::kInt32: return store_wide<int32_t>(from, size, to, position, stride);
    case DType::kBool: {
      auto* data = reinterpret_cast<uint8_t*>(to.data) + position;
      for (int64_t i = 0; i < size; ++i) data[i * stride] = from[i] != 0 ? 1 : 0;
      return;
    }
    default: break;
  }
  std::array<float, kStripSize> narrow;
  for (int64_t i = 0; i < size; ++i) narrow[static_cast<size_t>(i)] = static_cast<float>(from[i]);
  store_elements(narrow.data(), size, to, position, stride);
}

bool is_narrow(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

void convert_line(const TensorView& from, int64_t in, int64_t in_stride, int64_t size, const TensorView& to,
                  int64_t out, int64_t out_stride) {
  if (!is_narrow(to.type.dtype) || !(is_narrow(from.type.dtype) || from.type.dtype == DType::kBool)) {
    std::array<double, kStripSize> wide;
    load_wide_line(from, in, in_stride, size, wide.data());
    store_wide_line(wide.data(), size, to, out, out_stride);
  } else if (to.type.dtype == DType::kFloat32 && out_stride == 1) {
    load_elements(from, in, in_stride, size, reinterpret_cast<float*>(to.data) + out);
  } else {
    std::array<float, kStripSize> buffer;
    store_elements(float_elements(from, in, in_stride, size, buffer.data()), size, to, out, out_stride);
  }
}

void copy(Team& team, const TensorView& from, const TensorView& to) {
  if (from.type.dtype == to.type.dtype) return copy_elements(team, from, to);
  const Layout* layouts[] = {&to.type.layout, &from.type.layout};
  const LoopNest nest = memory_order_nest(to.shape(), layouts);
  for_strips(team, nest, [&](const StripWalk& walk) {
    for (int64_t row = 0; row < walk.rows(); ++row) {
      convert_line(from, walk.position(1) + row * nest.row_stride(1), nest.column_stride(1), walk.columns(), to,
                   walk.position(0) + row * nest.row_stride(0), nest.column_stride(0));
    }
  });
}

void launch_copy(const KernelCall& call) { copy(cpu::team_of(call), call.in[0], call.out[0]); }
void launch_assign(const KernelCall& call) { copy(cpu::team_of(call), call.in[1], call.out[0]); }

// ---- fills

void launch_fill(const KernelCall& call) {
  fill_elements(cpu::team_of(call), call.out[0], call.attributes.as<FillAttributes>().value);
}

// ---- the gradient of a slice

// Computes the gradient of a slice that takes every other element of the whole last axis: writes grad and the zeros
// between its elements in one pass. `window` is the part of the result that receives grad; it begins at index `begin`.
template <class Word>
void interleave_with_zeros(Team& team, const TensorView& grad, const TensorView& window, int64_t begin) {
  const Layout* layouts[] = {&window.type.layout, &grad.type.layout};
  const LoopNest nest = memory_order_nest(window.shape(), layouts);
  for_strips(team, nest, [&](const StripWalk& walk) {
    std::array<Word, kStripSize> buffer;
    for (int64_t row = 0; row < walk.rows(); ++row) {
      const Word* from = raw_elements(grad, walk.position(1) + row * nest.row_stride(1), nest.column_stride(1),
                                      walk.columns(), buffer.data());
      Word* to = reinterpret_cast<Word*>(window.data) + walk.position(0) + row * nest.row_stride(0) - begin;
      if (begin == 0) {
#pragma omp simd
        for (int64_t i = 0; i < walk.columns(); ++i) {
          to[2 * i] = from[i];
          to[2 * i + 1] = 0;
        }
      } else {
#pragma omp simd
        for (int64_t i = 0; i < walk.columns(); ++i) {
          to[2 * i] = 0;
          to[2 * i + 1] = from[i];
        }
      }
    }
  });
}

// Writes the window and the zeros around it in one pass over lines of `line` elements.
void write_window(Team& team, const TensorView& grad, const TensorView& out, const SliceBackwardAttributes& slice,
                  int64_t line) {
  const int64_t length = out.shape()[slice.axis];
  const int64_t size = grad.shape()[slice.axis];
  const int64_t bytes = size_of(out.type.dtype);
  const auto write = [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t at = i % length - slice.begin;
      const int64_t to = out.type.layout.offset + i * line;
      if (at < 0 || at >= size) {
        std::memset(out.data + to * bytes, 0, static_cast<size_t>(line * bytes));
        continue;
      }
      const int64_t from = grad.type.layout.offset + (i / length * size + at) * line;
      if (grad.type.dtype == out.type.dtype) {
        std::memcpy(out.data + to * bytes, grad.data + from * bytes, static_cast<size_t>(line * bytes));
        continue;
      }
      for (int64_t k = 0; k < line; k += kStripSize)
        convert_line(grad, from + k, 1, std::min(kStripSize, line - k), out, to + k, 1);
    }
  };
  team.parallel_blocks(out.numel() / line, std::max<int64_t>(1, kBlockSize / line), write);
}

void add_strip(const Strip& strip) {  // operands: sum, addend, grad
  float* const sum = strip.floats(0);
  const float* const addend = strip.floats(1);
  const float* const grad = strip.floats(2);
#pragma omp simd
  for (int64_t i = 0; i < strip.size; ++i) sum[i] = addend[i] + grad[i];
}

std::string slice_backward_refusal(const Signature& signature) {
  if (!signature.attributes.as<SliceBackwardAttributes>().addend) return "";
  return strips_refusal(signature.out, signature.in);
}

void launch_slice_backward(const KernelCall& call) {
  const auto& slice = call.attributes.as<SliceBackwardAttributes>();
  Team& team = cpu::team_of(call);
  const TensorView& grad = call.in[0];
  const TensorView& out = call.out[0];
  const int64_t size = grad.shape()[slice.axis];
  TensorView window = out;
  window.type.layout = sliced(out.type.layout, slice.axis, slice.begin, size, slice.step);
  if (slice.addend) {
    if (call.in[1].data != out.data) copy_elements(team, call.in[1], out);
    const TensorView addends[] = {window, grad};
    run_strips(team, {&window, 1}, addends, {add_strip});
    return;
  }
  const bool every_other =
      slice.axis == out.shape().rank() - 1 && slice.step == 2 && size > 1 && 2 * size == out.shape().back();
  const bool same = grad.type.dtype == out.type.dtype;
  if (same && every_other && size_of(grad.type.dtype) == 4)
    return interleave_with_zeros<uint32_t>(team, grad, window, slice.begin);
  if (same && every_other && size_of(grad.type.dtype) == 2)
    return interleave_with_zeros<uint16_t>(team, grad, window, slice.begin);
  constexpr int64_t kShortLine = 64;
  int64_t line = 1;
  for (int axis = slice.axis + 1; axis < out.shape().rank(); ++axis) line *= out.shape()[axis];
  if (slice.step == 1 && line >= kShortLine && grad.type.layout.is_contiguous())
    return write_window(team, grad, out, slice, line);
  fill_elements(team, out, 0);
  copy(team, grad, window);
}

Kernel kernel(const OpCard& op, const char* name, void (*launch)(const KernelCall&),
              std::string (*supports)(const Signature&) = nullptr) {
  return {.op = &op, .name = isa_name(name), .supports = supports, .launch = launch};
}

}  // namespace

std::vector<Kernel> copy_kernels() {
  return {
      kernel(kContiguous, "move", launch_copy),
      kernel(kCast, "convert", launch_copy),
      kernel(kAssign, "move", launch_assign),
      kernel(kFill, "fill", launch_fill),
      kernel(kSliceBackward, "window", launch_slice_backward, slice_backward_refusal),
  };
}

}  // namespace laptime::LAPTIME_ISA
