// Kernels of the SwiGLU gate: one pass in each direction.
#include "ops/swiglu/swiglu.h"

#include <algorithm>

#include "backend/cpu/vector/convert.h"
#include "backend/cpu/vector/strips.h"
#include "backend/cpu/vector/vector_math.h"

namespace laptime::LAPTIME_ISA {
namespace {

template <class Element>
void forward(const Element* a, const Element* b, Element* y, int64_t size) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    const float x = widened(a[i]);
    y[i] = narrowed<Element>(x / (1.0F + exp_f32(-x)) * widened(b[i]));
  }
}

// A gradient may overwrite an input.
template <class Element>
void backward(const Element* grad_y, const Element* a, const Element* b, Element* grad_a, Element* grad_b,
              int64_t size) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    const float x = widened(a[i]);
    const float g = widened(grad_y[i]);
    const float gate = widened(b[i]);
    const float s = sigmoid_f32(x);
    grad_a[i] = narrowed<Element>(g * gate * (s * (1.0F + x * (1.0F - s))));
    grad_b[i] = narrowed<Element>(g * (x * s));
  }
}

void forward_strip(const Strip& strip) { forward(strip.floats(1), strip.floats(2), strip.floats(0), strip.size); }

void backward_strip(const Strip& strip) {
  backward(strip.floats(2), strip.floats(3), strip.floats(4), strip.floats(0), strip.floats(1), strip.size);
}

// True if all operands are contiguous bfloat16, which the loops can read and write directly.
bool all_contiguous_bfloat16(const KernelCall& call) {
  const auto direct = [](const TensorView& view) {
    return view.type.dtype == DType::kBFloat16 && view.type.layout.is_contiguous();
  };
  return std::all_of(call.in.begin(), call.in.end(), direct) && std::all_of(call.out.begin(), call.out.end(), direct);
}

void launch_forward(const KernelCall& call) {
  cpu::Team& team = cpu::team_of(call);
  if (!all_contiguous_bfloat16(call)) return run_strips(team, call.out, call.in, {.function = forward_strip});
  const auto* a = call.in[0].as<const BFloat16>();
  const auto* b = call.in[1].as<const BFloat16>();
  auto* y = call.out[0].as<BFloat16>();
  team.parallel_blocks(call.out[0].numel(), kBlockSize,
                       [&](int64_t begin, int64_t end) { forward(a + begin, b + begin, y + begin, end - begin); });
}

void launch_backward(const KernelCall& call) {
  cpu::Team& team = cpu::team_of(call);
  if (!all_contiguous_bfloat16(call)) return run_strips(team, call.out, call.in, {.function = backward_strip});
  const auto* grad_y = call.in[0].as<const BFloat16>();
  const auto* a = call.in[1].as<const BFloat16>();
  const auto* b = call.in[2].as<const BFloat16>();
  auto* grad_a = call.out[0].as<BFloat16>();
  auto* grad_b = call.out[1].as<BFloat16>();
  team.parallel_blocks(call.out[0].numel(), kBlockSize, [&](int64_t begin, int64_t end) {
    backward(grad_y + begin, a + begin, b + begin, grad_a + begin, grad_b + begin, end - begin);
  });
}

Kernel kernel(const OpCard& op, void (*launch)(const KernelCall&)) {
  return {.op = &op, .name = isa_name("strips"), .supports = pointwise_refusal, .launch = launch};
}

}  // namespace

std::vector<Kernel> swiglu_kernels() {
  return {kernel(kSwiglu, launch_forward), kernel(kSwigluBackward, launch_backward)};
}

}  // namespace laptime::LAPTIME_ISA
