// Kernels of dropout. The mask is a function of the element's index, so threads compute parts of it independently.
#include "ops/dropout/dropout.h"

#include "backend/cpu/vector/strips.h"

namespace laptime::LAPTIME_ISA {
namespace {

// Computes the mask of elements [first, first + size).
void mask_line(uint64_t key, int64_t first, int64_t size, uint32_t threshold, uint8_t* mask) {
  std::array<uint32_t, kStripSize> top;
  const uint64_t start = key + static_cast<uint64_t>(first);
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    top[static_cast<size_t>(i)] = static_cast<uint32_t>(splitmix64(start + static_cast<uint64_t>(i)) >> 40U);
  }
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) mask[i] = static_cast<uint8_t>(top[static_cast<size_t>(i)] >= threshold ? 1 : 0);
}

struct Forward {
  const TensorView& x;
  const TensorView& y;
  uint8_t* mask;  // null if nothing reads it
  uint64_t key;
  uint32_t threshold;
  float scale;
};

// Processes one strip: elements [begin, begin + size).
void forward_strip(const Forward& f, int64_t begin, int64_t size) {
  alignas(64) std::array<float, kStripSize> buffer;
  alignas(64) std::array<float, kStripSize> result;
  alignas(64) std::array<uint8_t, kStripSize> unread_mask;
  const float* from = float_elements(f.x, f.x.type.layout.offset + begin, 1, size, buffer.data());
  const bool direct = f.y.type.dtype == DType::kFloat32;
  float* to = direct ? f.y.as<float>() + begin : result.data();
  uint8_t* mask = f.mask == nullptr ? unread_mask.data() : f.mask + begin;
  mask_line(f.key, begin, size, f.threshold, mask);
  const float scale = f.scale;
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    // Scales dropped elements, too, so that the compiler emits a select, not a branch.
    const float scaled = from[i] * scale;
    to[i] = mask[i] != 0 ? scaled : 0.0F;
  }
  if (!direct) store_elements(result.data(), size, f.y, f.y.type.layout.offset + begin, 1);
}

// (x [...], step []) -> (y [...], mask [...])
void launch_forward(const KernelCall& call) {
  const auto& attributes = call.attributes.as<DropoutAttributes>();
  uint8_t* mask = call.out[1].data == nullptr ? nullptr : call.out[1].as<uint8_t>();
  const Forward forward{call.in[0],
                        call.out[0],
                        mask,
                        attributes.counter().key(*call.in[1].as<const int64_t>()),
                        dropout_threshold(attributes.p),
                        static_cast<float>(dropout_scale(attributes.p))};
  cpu::team_of(call).parallel_blocks(call.in[0].numel(), kBlockSize, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += kStripSize) {
      forward_strip(forward, at, end - at < kStripSize ? end - at : kStripSize);
    }
  });
}

std::string forward_refusal(const Signature& signature) {
  if (!signature.in[0].layout.is_contiguous()) return "x is not contiguous, but the mask is drawn in row-major order";
  if (signature.in[1].dtype != DType::kInt64) return "step is not int64";
  return strips_refusal({signature.out.data(), 1}, {signature.in.data(), 1});
}

void backward_strip(const Strip& strip) {
  const float scale = *static_cast<const float*>(strip.parameters);
  float* grad_x = strip.floats(0);
  const float* grad = strip.floats(1);
  const uint8_t* mask = strip.bytes(2);
#pragma omp simd
  for (int64_t i = 0; i < strip.size; ++i) {
    const float scaled = grad[i] * scale;
    grad_x[i] = mask[i] != 0 ? scaled : 0.0F;
  }
}

// (grad_y [...], mask [...]) -> grad_x [...]
void launch_backward(const KernelCall& call) {
  const auto scale = static_cast<float>(dropout_scale(call.attributes.as<DropoutAttributes>().p));
  run_strips(cpu::team_of(call), call.out, call.in, {.function = backward_strip, .parameters = &scale});
}

std::string backward_refusal(const Signature& signature) {
  if (signature.in[1].dtype != DType::kBool) return "mask is not bool";
  return pointwise_refusal(signature);
}

}  // namespace

std::vector<Kernel> dropout_kernels() {
  return {
      {.op = &kDropout, .name = isa_name("counter"), .supports = forward_refusal, .launch = launch_forward},
      {.op = &kDropoutBackward, .name = isa_name("strips"), .supports = backward_refusal, .launch = launch_backward},
  };
}

}  // namespace laptime::LAPTIME_ISA
