// Kernels of layer normalisation: rows forward; backward rows in parts, each with its own sums of the weights'
// gradients.
#include "ops/layer_norm/layer_norm.h"

#include "backend/cpu/lines.h"

namespace laptime::LAPTIME_ISA {
namespace {

struct Statistics {
  float mean, rstd;
};

Statistics statistics_of(const Line& x, int64_t columns, double eps) {
  alignas(64) Piece buffer;
  double sum = 0;
  for_pieces(columns, [&](int64_t begin, int64_t size) {
    const float* from = x.piece(begin, size, buffer.data());
    sum += lane_sum(size, [=](int64_t i) { return from[i]; });
  });
  const auto mean = static_cast<float>(sum / static_cast<double>(columns));
  double squares = 0;
  for_pieces(columns, [&](int64_t begin, int64_t size) {
    const float* from = x.piece(begin, size, buffer.data());
    squares += lane_sum(size, [=](int64_t i) { return (from[i] - mean) * (from[i] - mean); });
  });
  return {mean, static_cast<float>(1 / __builtin_sqrt(squares / static_cast<double>(columns) + eps))};
}

void launch_forward(const KernelCall& call) {
  const double eps = call.attributes.as<LayerNormAttributes>().eps;
  const TensorView& x = call.in[0];
  const Line weight = vector_line(call.in[1]);
  const Line bias = vector_line(call.in[2]);
  const int64_t columns = x.shape().back();
  const Rows rows({&x, &call.out[0], &call.out[1], &call.out[2]});
  cpu::team_of(call).parallel_blocks(rows.count(), Rows::per_block(columns), [&](int64_t first, int64_t last) {
    alignas(64) Piece buffer;
    alignas(64) Piece weight_buffer;
    alignas(64) Piece bias_buffer;
    for (int64_t row = first; row < last; ++row) {
      const Line source = row_line(x, rows.position(0, row));
      const Statistics s = statistics_of(source, columns, eps);
      for_pieces(columns, [&](int64_t begin, int64_t size) {
        const float* from = source.piece(begin, size, buffer.data());
        const float* scale = weight.piece(begin, size, weight_buffer.data());
        const float* shift = bias.piece(begin, size, bias_buffer.data());
        write_piece(call.out[0], rows.position(1, row) + begin, size, [=](float* y) {
#pragma omp simd
          for (int64_t i = 0; i < size; ++i) y[i] = (from[i] - s.mean) * s.rstd * scale[i] + shift[i];
        });
      });
      put_number(s.mean, call.out[1], rows.position(2, row));
      put_number(s.rstd, call.out[2], rows.position(3, row));
    }
  });
}

struct Backward {
  const TensorView& grad;
  const TensorView& x;
  const TensorView& grad_x;
  Line weight;
  int64_t columns;
};

// One row: grad x = rstd (g - mean(g) - xhat mean(g xhat)), g = grad weight; adds to the weights' gradients.
void backward_row(const Backward& b, const Line& grad, const Line& x, int64_t to, Statistics s, float* grad_weight,
                  float* grad_bias) {
  alignas(64) Piece grad_buffer;
  alignas(64) Piece x_buffer;
  alignas(64) Piece weight_buffer;
  double sum = 0;
  double product = 0;
  for_pieces(b.columns, [&](int64_t begin, int64_t size) {
    const float* g = grad.piece(begin, size, grad_buffer.data());
    const float* from = x.piece(begin, size, x_buffer.data());
    const float* w = b.weight.piece(begin, size, weight_buffer.data());
    sum += lane_sum(size, [=](int64_t i) { return g[i] * w[i]; });
    product += lane_sum(size, [=](int64_t i) { return g[i] * w[i] * ((from[i] - s.mean) * s.rstd); });
    float* to_weight = grad_weight + begin;
    float* to_bias = grad_bias + begin;
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) {
      to_weight[i] += g[i] * ((from[i] - s.mean) * s.rstd);
      to_bias[i] += g[i];
    }
  });
  const double mean_sum = sum / static_cast<double>(b.columns);
  const double mean_product = product / static_cast<double>(b.columns);
  for_pieces(b.columns, [&](int64_t begin, int64_t size) {
    const float* g = grad.piece(begin, size, grad_buffer.data());
    const float* from = x.piece(begin, size, x_buffer.data());
    const float* w = b.weight.piece(begin, size, weight_buffer.data());
    write_piece(b.grad_x, to + begin, size, [=](float* y) {
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) {
        // In float64: the three terms cancel.
        const double part = static_cast<double>(g[i]) * w[i] - mean_sum -
                            (static_cast<double>(from[i]) - s.mean) * s.rstd * mean_product;
        y[i] = static_cast<float>(s.rstd * part);
      }
    });
  });
}

void launch_backward(const KernelCall& call) {
  const Backward backward{call.in[0], call.in[1], call.out[0], vector_line(call.in[4]), call.in[1].shape().back()};
  const int64_t columns = backward.columns;
  const Rows rows({&backward.grad, &backward.x, &call.in[2], &call.in[3], &backward.grad_x});
  auto* partial = reinterpret_cast<float*>(call.workspace);  // [parts, 2, C]
  cpu::Team& team = cpu::team_of(call);
  const int64_t parts = parts_of(rows.count());
  team.parallel_for(parts, [&](int64_t part) {
    float* grad_weight = partial + part * 2 * columns;
    for (int64_t i = 0; i < 2 * columns; ++i) grad_weight[i] = 0;
    const int64_t first = part * kRowsOfPart;
    const int64_t last = first + kRowsOfPart < rows.count() ? first + kRowsOfPart : rows.count();
    for (int64_t row = first; row < last; ++row) {
      const Statistics s{number_at(call.in[2], rows.position(2, row)), number_at(call.in[3], rows.position(3, row))};
      backward_row(backward, row_line(backward.grad, rows.position(0, row)),
                   row_line(backward.x, rows.position(1, row)), rows.position(4, row), s, grad_weight,
                   grad_weight + columns);
    }
  });
  team.parallel_blocks(columns, kStripSize, [&](int64_t begin, int64_t end) {
    for (size_t which = 0; which < 2; ++which) {
      add_parts(partial + static_cast<int64_t>(which) * columns, parts, 2 * columns, begin, end - begin,
                call.out[which + 1]);
    }
  });
}

int64_t backward_workspace(const Signature& signature) {
  const int64_t columns = signature.in[1].shape().back();
  return (Size(parts_of(signature.in[1].numel() / columns)) * 2 * columns * static_cast<int64_t>(sizeof(float)))
      .value();
}

std::string forward_refusal(const Signature& signature) { return pointwise_refusal(signature); }

std::string backward_refusal(const Signature& signature) {
  if (signature.in[2].dtype != DType::kFloat32 || signature.in[3].dtype != DType::kFloat32)
    return "statistics are not float32";
  return pointwise_refusal(signature);
}

}  // namespace

std::vector<Kernel> layer_norm_kernels() {
  return {
      {.op = &kLayerNorm,
       .name = isa_name("rows"),
       .supports = forward_refusal,
       .workspace = nullptr,
       .launch = launch_forward},
      {.op = &kLayerNormBackward,
       .name = isa_name("parts"),
       .supports = backward_refusal,
       .workspace = backward_workspace,
       .launch = launch_backward},
  };
}

}  // namespace laptime::LAPTIME_ISA
