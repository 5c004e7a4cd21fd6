// Kernels of softmax: two passes over a row each way, the second in the cache.
#include "ops/softmax/softmax.h"

#include "backend/cpu/vector/lines.h"

namespace laptime::LAPTIME_ISA {
namespace {

void launch_forward(const KernelCall& call) {
  const TensorView& x = call.in[0];
  const TensorView& y = call.out[0];
  const int64_t columns = x.shape().back();
  const Rows rows({&x, &y});
  cpu::team_of(call).parallel_blocks(rows.count(), Rows::per_block(columns), [&](int64_t first, int64_t last) {
    alignas(64) Piece buffer;
    for (int64_t row = first; row < last; ++row) {
      const Line source = row_line(x, rows.position(0, row));
      const ExpSum sum = exp_sum_of(source, columns);
      const auto scale = static_cast<float>(1 / sum.total);
      for_pieces(columns, [&](int64_t begin, int64_t size) {
        const float* from = source.piece(begin, size, buffer.data());
        write_piece(y, rows.position(1, row) + begin, size, [=](float* out) {
#pragma omp simd
          for (int64_t i = 0; i < size; ++i) out[i] = exp_f32(from[i] - sum.largest) * scale;
        });
      });
    }
  });
}

void launch_backward(const KernelCall& call) {
  const TensorView& grad = call.in[0];
  const TensorView& y = call.in[1];
  const TensorView& grad_x = call.out[0];
  const int64_t columns = y.shape().back();
  const Rows rows({&grad, &y, &grad_x});
  cpu::team_of(call).parallel_blocks(rows.count(), Rows::per_block(columns), [&](int64_t first, int64_t last) {
    alignas(64) Piece grad_buffer;
    alignas(64) Piece y_buffer;
    for (int64_t row = first; row < last; ++row) {
      const Line grad_row = row_line(grad, rows.position(0, row));
      const Line y_row = row_line(y, rows.position(1, row));
      double sum = 0;
      for_pieces(columns, [&](int64_t begin, int64_t size) {
        const float* g = grad_row.piece(begin, size, grad_buffer.data());
        const float* p = y_row.piece(begin, size, y_buffer.data());
        sum += static_cast<double>(lane_sum(size, [=](int64_t i) { return g[i] * p[i]; }));
      });
      const auto total = static_cast<float>(sum);
      for_pieces(columns, [&](int64_t begin, int64_t size) {
        const float* g = grad_row.piece(begin, size, grad_buffer.data());
        const float* p = y_row.piece(begin, size, y_buffer.data());
        write_piece(grad_x, rows.position(2, row) + begin, size, [=](float* out) {
#pragma omp simd
          for (int64_t i = 0; i < size; ++i) out[i] = p[i] * (g[i] - total);
        });
      });
    }
  });
}

Kernel kernel(const OpCard& op, void (*launch)(const KernelCall&)) {
  return {.op = &op, .name = isa_name("rows"), .supports = pointwise_refusal, .workspace = nullptr, .launch = launch};
}

}  // namespace

std::vector<Kernel> softmax_kernels() {
  return {kernel(kSoftmax, launch_forward), kernel(kSoftmaxBackward, launch_backward)};
}

}  // namespace laptime::LAPTIME_ISA
