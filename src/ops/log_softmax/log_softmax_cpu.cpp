// Kernels of log_softmax: two passes over a row, the second in the cache.
#include "ops/log_softmax/log_softmax.h"

#include "backend/cpu/lanes.h"
#include "backend/cpu/strips.h"
#include "backend/cpu/vector_math.h"

namespace laptime::LAPTIME_ISA {
namespace {

using Buffer = std::array<float, kStripSize>;

// body(begin, size) for the pieces of a row.
template <class Body>
void for_pieces(int64_t columns, const Body& body) {
  for (int64_t begin = 0; begin < columns; begin += kStripSize) {
    body(begin, columns - begin < kStripSize ? columns - begin : kStripSize);
  }
}

void forward_row(const TensorView& x, int64_t from, const TensorView& y, int64_t to, int64_t columns) {
  alignas(64) Buffer buffer;
  alignas(64) Buffer result;
  const int64_t stride = x.strides().back();
  const auto piece = [&](int64_t begin, int64_t size) {
    return line(x, from + begin * stride, stride, size, buffer.data());
  };
  float largest = -__builtin_inff();
  double total = 0;  // of exp(x - largest), for the largest so far
  for_pieces(columns, [&](int64_t begin, int64_t size) {
    const float* values = piece(begin, size);
    const float value = lane_max(values, size);
    if (value > largest) {
      total *= static_cast<double>(exp_f32(largest - value));
      largest = value;
    }
    // Nothing above -inf yet: add zeros (or NaN), not exp(-inf + inf).
    const float shift = largest == -__builtin_inff() ? 0.0F : largest;
    total += static_cast<double>(lane_sum(size, [=](int64_t i) { return exp_f32(values[i] - shift); }));
  });
  const auto log_total = static_cast<float>(__builtin_log(total));
  for_pieces(columns, [&](int64_t begin, int64_t size) {
    const float* values = piece(begin, size);
    const bool direct = y.type.dtype == DType::kFloat32;
    float* out = direct ? reinterpret_cast<float*>(y.data) + to + begin : result.data();
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) out[i] = (values[i] - largest) - log_total;
    if (!direct) store_line(out, size, y, to + begin, 1);
  });
}

void launch_forward(const KernelCall& call) {
  const TensorView& x = call.in[0];
  const TensorView& y = call.out[0];
  const int64_t columns = x.shape().back();
  const Rows rows({&x, &y});
  cpu::team_of(call).parallel_blocks(rows.count(), Rows::per_block(columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      forward_row(x, rows.position(0, row), y, rows.position(1, row), columns);
  });
}

void launch_backward(const KernelCall& call) {
  const TensorView& grad = call.in[0];
  const TensorView& y = call.in[1];
  const TensorView& out = call.out[0];
  const int64_t columns = y.shape().back();
  const int64_t grad_stride = grad.strides().back();
  const int64_t y_stride = y.strides().back();
  const Rows rows({&grad, &y, &out});
  cpu::team_of(call).parallel_blocks(rows.count(), Rows::per_block(columns), [&](int64_t first, int64_t last) {
    alignas(64) Buffer grad_buffer;
    alignas(64) Buffer y_buffer;
    alignas(64) Buffer result;
    for (int64_t row = first; row < last; ++row) {
      const int64_t grad_row = rows.position(0, row);
      const int64_t y_row = rows.position(1, row);
      const int64_t to = rows.position(2, row);
      double sum = 0;
      for_pieces(columns, [&](int64_t begin, int64_t size) {
        const float* g = line(grad, grad_row + begin * grad_stride, grad_stride, size, grad_buffer.data());
        sum += lane_sum(size, [=](int64_t i) { return g[i]; });
      });
      const auto total = static_cast<float>(sum);
      for_pieces(columns, [&](int64_t begin, int64_t size) {
        const float* g = line(grad, grad_row + begin * grad_stride, grad_stride, size, grad_buffer.data());
        const float* log_p = line(y, y_row + begin * y_stride, y_stride, size, y_buffer.data());
        const bool direct = out.type.dtype == DType::kFloat32;
        float* grad_x = direct ? reinterpret_cast<float*>(out.data) + to + begin : result.data();
#pragma omp simd
        for (int64_t i = 0; i < size; ++i) grad_x[i] = g[i] - exp_f32(log_p[i]) * total;
        if (!direct) store_line(grad_x, size, out, to + begin, 1);
      });
    }
  });
}

Kernel kernel(const OpCard& op, void (*launch)(const KernelCall&)) {
  return {.op = &op, .name = isa_name("rows"), .supports = pointwise_refusal, .workspace = nullptr, .launch = launch};
}

}  // namespace

std::vector<Kernel> log_softmax_kernels() {
  return {kernel(kLogSoftmax, launch_forward), kernel(kLogSoftmaxBackward, launch_backward)};
}

}  // namespace laptime::LAPTIME_ISA
