// Kernels of softmax and log_softmax: two passes over each row; in the second, the row is still in the cache.
#include "ops/softmax/softmax.h"

#include "backend/cpu/vector/rows.h"

namespace laptime::LAPTIME_ISA {
namespace {

// y = exp(x - row_max) / row_sum
struct Softmax {
  static float row_constant(double row_sum) { return static_cast<float>(1 / row_sum); }
  static float y(float x, float row_max, float reciprocal) { return exp_f32(x - row_max) * reciprocal; }

  static float grad_term(float grad, float y) { return grad * y; }
  static float grad_x(float grad, float y, float term_sum) { return y * (grad - term_sum); }
};

// y = x - row_max - log(row_sum)
struct LogSoftmax {
  static float row_constant(double row_sum) { return static_cast<float>(__builtin_log(row_sum)); }
  static float y(float x, float row_max, float log_sum) { return (x - row_max) - log_sum; }

  static float grad_term(float grad, float) { return grad; }
  static float grad_x(float grad, float y, float term_sum) { return grad - exp_f32(y) * term_sum; }
};

// x [..., C] -> y [..., C]
template <class Function>
void launch_forward(const KernelCall& call) {
  const TensorView& x = call.in[0];
  const TensorView& y = call.out[0];
  const int64_t columns = x.shape().back();
  const Rows rows({&x, &y});
  cpu::team_of(call).parallel_blocks(rows.count(), Rows::per_block(columns), [&](int64_t first, int64_t last) {
    alignas(64) ChunkBuffer buffer;
    for (int64_t row = first; row < last; ++row) {
      const RowView x_row = row_view(x, rows.position(0, row));
      const ExpSum sum = row_exp_sum(x_row, columns);
      const float constant = Function::row_constant(sum.total);
      for_chunks(columns, [&](int64_t begin, int64_t size) {
        const float* from = x_row.chunk(begin, size, buffer.data());
        write_chunk(y, rows.position(1, row) + begin, size, [=](float* out) {
#pragma omp simd
          for (int64_t i = 0; i < size; ++i) out[i] = Function::y(from[i], sum.largest, constant);
        });
      });
    }
  });
}

// (grad_y [..., C], y [..., C]) -> grad_x [..., C]
template <class Function>
void launch_backward(const KernelCall& call) {
  const TensorView& grad_y = call.in[0];
  const TensorView& y = call.in[1];
  const TensorView& grad_x = call.out[0];
  const int64_t columns = y.shape().back();
  const Rows rows({&grad_y, &y, &grad_x});
  cpu::team_of(call).parallel_blocks(rows.count(), Rows::per_block(columns), [&](int64_t first, int64_t last) {
    alignas(64) ChunkBuffer grad_buffer;
    alignas(64) ChunkBuffer y_buffer;
    for (int64_t row = first; row < last; ++row) {
      const RowView grad_row = row_view(grad_y, rows.position(0, row));
      const RowView y_row = row_view(y, rows.position(1, row));
      double sum = 0;
      for_chunks(columns, [&](int64_t begin, int64_t size) {
        const float* g = grad_row.chunk(begin, size, grad_buffer.data());
        const float* p = y_row.chunk(begin, size, y_buffer.data());
        sum += static_cast<double>(lane_sum(size, [=](int64_t i) { return Function::grad_term(g[i], p[i]); }));
      });
      const auto term_sum = static_cast<float>(sum);
      for_chunks(columns, [&](int64_t begin, int64_t size) {
        const float* g = grad_row.chunk(begin, size, grad_buffer.data());
        const float* p = y_row.chunk(begin, size, y_buffer.data());
        write_chunk(grad_x, rows.position(2, row) + begin, size, [=](float* out) {
#pragma omp simd
          for (int64_t i = 0; i < size; ++i) out[i] = Function::grad_x(g[i], p[i], term_sum);
        });
      });
    }
  });
}

Kernel kernel(const OpCard& op, void (*launch)(const KernelCall&)) {
  return {.op = &op, .name = isa_name("rows"), .supports = pointwise_refusal, .launch = launch};
}

}  // namespace

std::vector<Kernel> softmax_kernels() {
  return {kernel(kSoftmax, launch_forward<Softmax>), kernel(kSoftmaxBackward, launch_backward<Softmax>),
          kernel(kLogSoftmax, launch_forward<LogSoftmax>), kernel(kLogSoftmaxBackward, launch_backward<LogSoftmax>)};
}

}  // namespace laptime::LAPTIME_ISA
