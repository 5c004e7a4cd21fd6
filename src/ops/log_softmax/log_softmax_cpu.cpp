// Kernels of log_softmax: two passes over a row, the second in the cache.
#include "ops/log_softmax/log_softmax.h"

#include "backend/cpu/vector/lines.h"

namespace laptime::LAPTIME_ISA {
namespace {

void forward_row(const Line& x, const TensorView& y, int64_t to, int64_t columns) {
  alignas(64) Piece buffer;
  const ExpSum sum = exp_sum_of(x, columns);
  const auto log_total = static_cast<float>(__builtin_log(sum.total));
  for_pieces(columns, [&](int64_t begin, int64_t size) {
    const float* values = x.piece(begin, size, buffer.data());
    write_piece(y, to + begin, size, [=](float* out) {
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) out[i] = (values[i] - sum.largest) - log_total;
    });
  });
}

void launch_forward(const KernelCall& call) {
  const TensorView& x = call.in[0];
  const TensorView& y = call.out[0];
  const int64_t columns = x.shape().back();
  const Rows rows({&x, &y});
  cpu::team_of(call).parallel_blocks(rows.count(), Rows::per_block(columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      forward_row(row_line(x, rows.position(0, row)), y, rows.position(1, row), columns);
  });
}

void launch_backward(const KernelCall& call) {
  const TensorView& grad = call.in[0];
  const TensorView& y = call.in[1];
  const TensorView& out = call.out[0];
  const int64_t columns = y.shape().back();
  const Rows rows({&grad, &y, &out});
  cpu::team_of(call).parallel_blocks(rows.count(), Rows::per_block(columns), [&](int64_t first, int64_t last) {
    alignas(64) Piece grad_buffer;
    alignas(64) Piece y_buffer;
    for (int64_t row = first; row < last; ++row) {
      const Line grad_row = row_line(grad, rows.position(0, row));
      const Line y_row = row_line(y, rows.position(1, row));
      const int64_t to = rows.position(2, row);
      double sum = 0;
      for_pieces(columns, [&](int64_t begin, int64_t size) {
        const float* g = grad_row.piece(begin, size, grad_buffer.data());
        sum += lane_sum(size, [=](int64_t i) { return g[i]; });
      });
      const auto total = static_cast<float>(sum);
      for_pieces(columns, [&](int64_t begin, int64_t size) {
        const float* g = grad_row.piece(begin, size, grad_buffer.data());
        const float* log_p = y_row.piece(begin, size, y_buffer.data());
        write_piece(out, to + begin, size, [=](float* grad_x) {
#pragma omp simd
          for (int64_t i = 0; i < size; ++i) grad_x[i] = g[i] - exp_f32(log_p[i]) * total;
        });
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
