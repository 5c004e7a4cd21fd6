// Kernels of RMSNorm: rows forward; backward rows in parts, each with its own sums of the weight's gradient.
#include "ops/rms_norm/rms_norm.h"

#include "backend/cpu/vector/lines.h"

namespace laptime::LAPTIME_ISA {
namespace {

float rstd_of(double squares, int64_t columns, double eps) {
  return static_cast<float>(1 / __builtin_sqrt(squares / static_cast<double>(columns) + eps));
}

// y = weight (x rstd) for a piece; from(i) is x.
void normalise(const float* from, const float* weight, float rstd, int64_t size, const TensorView& y, int64_t to) {
  write_piece(y, to, size, [=](float* out) {
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) out[i] = weight[i] * (from[i] * rstd);
  });
}

void launch_forward(const KernelCall& call) {
  const double eps = call.attributes.as<RmsNormAttributes>().eps;
  const TensorView& x = call.in[0];
  const Line weight = vector_line(call.in[1]);
  const int64_t columns = x.shape().back();
  const Rows rows({&x, &call.out[0], &call.out[1]});
  cpu::team_of(call).parallel_blocks(rows.count(), Rows::per_block(columns), [&](int64_t first, int64_t last) {
    alignas(64) Piece buffer;
    alignas(64) Piece weight_buffer;
    for (int64_t row = first; row < last; ++row) {
      const Line source = row_line(x, rows.position(0, row));
      double squares = 0;
      for_pieces(columns, [&](int64_t begin, int64_t size) {
        const float* from = source.piece(begin, size, buffer.data());
        squares += lane_sum(size, [=](int64_t i) { return from[i] * from[i]; });
      });
      const float rstd = rstd_of(squares, columns, eps);
      for_pieces(columns, [&](int64_t begin, int64_t size) {
        normalise(source.piece(begin, size, buffer.data()), weight.piece(begin, size, weight_buffer.data()), rstd, size,
                  call.out[0], rows.position(1, row) + begin);
      });
      put_number(rstd, call.out[1], rows.position(2, row));
    }
  });
}

// ---- backward

// One row: grad x = rstd (g - xhat mean(g xhat)), g = grad_y weight, xhat = x rstd, and the addend; adds to the
// weight's gradient. grad x may stand where one of the others does.
template <bool with_addend>
struct BackwardRow {
  Line grad, x, weight, addend;
  float rstd;
  int64_t columns;

  void operator()(const TensorView& grad_x, int64_t to, float* grad_weight) const {
    alignas(64) Piece addend_buffer;
    alignas(64) Piece grad_buffer;
    alignas(64) Piece x_buffer;
    alignas(64) Piece weight_buffer;
    const float scale = rstd;
    double product = 0;
    for_pieces(columns, [&](int64_t begin, int64_t size) {
      const float* g = grad.piece(begin, size, grad_buffer.data());
      const float* from = x.piece(begin, size, x_buffer.data());
      const float* w = weight.piece(begin, size, weight_buffer.data());
      float* to_weight = grad_weight + begin;
      product += lane_sum(size, [=](int64_t i) {
        const float term = g[i] * (from[i] * scale);
        to_weight[i] += term;
        return term * w[i];
      });
    });
    const float factor = scale * static_cast<float>(product / static_cast<double>(columns));
    for_pieces(columns, [&](int64_t begin, int64_t size) {
      const float* g = grad.piece(begin, size, grad_buffer.data());
      const float* from = x.piece(begin, size, x_buffer.data());
      const float* w = weight.piece(begin, size, weight_buffer.data());
      const float* add = with_addend ? addend.piece(begin, size, addend_buffer.data()) : nullptr;
      write_piece(grad_x, to + begin, size, [=](float* out) {
#pragma omp simd
        for (int64_t i = 0; i < size; ++i) {
          const float value = scale * (g[i] * w[i] - from[i] * factor);
          if constexpr (with_addend) {
            out[i] = value + add[i];
          } else {
            out[i] = value;
          }
        }
      });
    });
  }
};

template <bool with_addend>
void launch_backward(const KernelCall& call) {
  const std::span<const TensorView> in = call.in;
  const TensorView& addend = in[with_addend ? 4 : 0];
  const TensorView& grad_x = call.out[0];
  const int64_t columns = in[1].shape().back();
  const Rows rows({&in[0], &in[1], &in[2], &addend, &grad_x});
  auto* partial = reinterpret_cast<float*>(call.workspace);  // [parts, C]
  cpu::Team& team = cpu::team_of(call);
  const int64_t parts = parts_of(rows.count());
  team.parallel_for(parts, [&](int64_t part) {
    float* grad_weight = partial + part * columns;
    for (int64_t i = 0; i < columns; ++i) grad_weight[i] = 0;
    const int64_t first = part * kRowsOfPart;
    const int64_t last = first + kRowsOfPart < rows.count() ? first + kRowsOfPart : rows.count();
    for (int64_t row = first; row < last; ++row) {
      const BackwardRow<with_addend> backward{.grad = row_line(in[0], rows.position(0, row)),
                                              .x = row_line(in[1], rows.position(1, row)),
                                              .weight = vector_line(in[3]),
                                              .addend = row_line(addend, rows.position(3, row)),
                                              .rstd = number_at(in[2], rows.position(2, row)),
                                              .columns = columns};
      backward(grad_x, rows.position(4, row), grad_weight);
    }
  });
  team.parallel_blocks(columns, kStripSize, [&](int64_t begin, int64_t end) {
    add_parts(partial, parts, columns, begin, end - begin, call.out[1]);
  });
}

void launch_any_backward(const KernelCall& call) {
  call.attributes.as<RmsNormBackwardAttributes>().addend ? launch_backward<true>(call) : launch_backward<false>(call);
}

int64_t backward_workspace(const Signature& signature) {
  const int64_t columns = signature.out[1].numel();
  const int64_t rows = columns == 0 ? 0 : signature.out[0].numel() / columns;
  return (Size(parts_of(rows)) * columns * static_cast<int64_t>(sizeof(float))).value();
}

std::string backward_refusal(const Signature& signature) {
  if (signature.in[2].dtype != DType::kFloat32) return "rstd is not float32";
  return pointwise_refusal(signature);
}

}  // namespace

std::vector<Kernel> rms_norm_kernels() {
  return {
      {.op = &kRmsNorm,
       .name = isa_name("rows"),
       .supports = pointwise_refusal,
       .workspace = nullptr,
       .launch = launch_forward},
      {.op = &kRmsNormBackward,
       .name = isa_name("parts"),
       .supports = backward_refusal,
       .workspace = backward_workspace,
       .launch = launch_any_backward},
  };
}

}  // namespace laptime::LAPTIME_ISA
