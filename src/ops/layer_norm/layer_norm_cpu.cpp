// Kernels of layer normalisation: rows forward; backward rows in parts, each with its own sums of the weights'
// gradients.
#include "ops/layer_norm/layer_norm.h"

#include "backend/cpu/vector/lines.h"

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

// One row: grad x = rstd (g - mean(g) - xhat mean(g xhat)), g = grad weight, and the addend; adds to the weights'
// gradients. grad x may stand where one of the others does.
template <bool with_addend>
struct BackwardRow {
  Line grad, x, weight, addend;
  Statistics s;
  int64_t columns;

  void operator()(const TensorView& grad_x, int64_t to, float* grad_weight, float* grad_bias) const {
    alignas(64) Piece grad_buffer;
    alignas(64) Piece x_buffer;
    alignas(64) Piece weight_buffer;
    alignas(64) Piece addend_buffer;
    const float mean = s.mean;
    const float rstd = s.rstd;
    double sum = 0;
    double product = 0;
    for_pieces(columns, [&](int64_t begin, int64_t size) {
      const float* g = grad.piece(begin, size, grad_buffer.data());
      const float* from = x.piece(begin, size, x_buffer.data());
      const float* w = weight.piece(begin, size, weight_buffer.data());
      sum += lane_sum(size, [=](int64_t i) { return g[i] * w[i]; });
      product += lane_sum(size, [=](int64_t i) { return g[i] * w[i] * ((from[i] - mean) * rstd); });
      float* to_weight = grad_weight + begin;
      float* to_bias = grad_bias + begin;
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) {
        to_weight[i] += g[i] * ((from[i] - mean) * rstd);
        to_bias[i] += g[i];
      }
    });
    const double mean_sum = sum / static_cast<double>(columns);
    const double mean_product = product / static_cast<double>(columns);
    for_pieces(columns, [&](int64_t begin, int64_t size) {
      const float* g = grad.piece(begin, size, grad_buffer.data());
      const float* from = x.piece(begin, size, x_buffer.data());
      const float* w = weight.piece(begin, size, weight_buffer.data());
      const float* add = with_addend ? addend.piece(begin, size, addend_buffer.data()) : nullptr;
      write_piece(grad_x, to + begin, size, [=](float* y) {
#pragma omp simd
        for (int64_t i = 0; i < size; ++i) {
          // In float64: the three terms cancel.
          const double part =
              static_cast<double>(g[i]) * w[i] - mean_sum - (static_cast<double>(from[i]) - mean) * rstd * mean_product;
          const auto value = static_cast<float>(rstd * part);
          if constexpr (with_addend) {
            y[i] = value + add[i];
          } else {
            y[i] = value;
          }
        }
      });
    });
  }
};

template <bool with_addend>
void launch_backward(const KernelCall& call) {
  const std::span<const TensorView> in = call.in;
  const TensorView& addend = in[with_addend ? 5 : 0];
  const TensorView& grad_x = call.out[0];
  const int64_t columns = in[1].shape().back();
  const Rows rows({&in[0], &in[1], &in[2], &in[3], &addend, &grad_x});
  auto* partial = reinterpret_cast<float*>(call.workspace);  // [parts, 2, C]
  cpu::Team& team = cpu::team_of(call);
  const int64_t parts = parts_of(rows.count());
  team.parallel_for(parts, [&](int64_t part) {
    float* grad_weight = partial + part * 2 * columns;
    for (int64_t i = 0; i < 2 * columns; ++i) grad_weight[i] = 0;
    const int64_t first = part * kRowsOfPart;
    const int64_t last = first + kRowsOfPart < rows.count() ? first + kRowsOfPart : rows.count();
    for (int64_t row = first; row < last; ++row) {
      const BackwardRow<with_addend> backward{
          .grad = row_line(in[0], rows.position(0, row)),
          .x = row_line(in[1], rows.position(1, row)),
          .weight = vector_line(in[4]),
          .addend = row_line(addend, rows.position(4, row)),
          .s = {number_at(in[2], rows.position(2, row)), number_at(in[3], rows.position(3, row))},
          .columns = columns};
      backward(grad_x, rows.position(5, row), grad_weight, grad_weight + columns);
    }
  });
  team.parallel_blocks(columns, kStripSize, [&](int64_t begin, int64_t end) {
    for (size_t which = 0; which < 2; ++which) {
      add_parts(partial + static_cast<int64_t>(which) * columns, parts, 2 * columns, begin, end - begin,
                call.out[which + 1]);
    }
  });
}

void launch_any_backward(const KernelCall& call) {
  call.attributes.as<LayerNormBackwardAttributes>().addend ? launch_backward<true>(call) : launch_backward<false>(call);
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
       .launch = launch_any_backward},
  };
}

}  // namespace laptime::LAPTIME_ISA
