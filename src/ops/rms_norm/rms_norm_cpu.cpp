// Kernels of RMSNorm: rows forward, the addition before it in the same pass; backward rows in parts, each with its own
// sums of the weight's gradient.
#include "ops/rms_norm/rms_norm.h"

#include "backend/cpu/lines.h"

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

// ---- after an addition

// A row of the sum, kept as float32: where the output stands if it is that, else in the thread's scratch.
constexpr int64_t kLongestRow = cpu::Team::kScratchBytes / static_cast<int64_t>(sizeof(float));

void launch_add(const KernelCall& call) {
  const double eps = call.attributes.as<RmsNormAttributes>().eps;
  const TensorView& sum = call.out[0];
  const Line weight = vector_line(call.in[2]);
  const int64_t columns = sum.shape().back();
  const Rows rows({&call.in[0], &call.in[1], &sum, &call.out[1], &call.out[2]});
  const bool in_place = sum.data != nullptr && sum.type.dtype == DType::kFloat32;
  const bool stored = sum.data != nullptr && !in_place;
  cpu::Team& team = cpu::team_of(call);
  const int64_t per_block = Rows::per_block(columns);
  team.parallel_for((rows.count() + per_block - 1) / per_block, [&](int64_t block, int lane) {
    alignas(64) Piece x_buffer;
    alignas(64) Piece r_buffer;
    alignas(64) Piece weight_buffer;
    const int64_t last = (block + 1) * per_block < rows.count() ? (block + 1) * per_block : rows.count();
    for (int64_t row = block * per_block; row < last; ++row) {
      const Line x = row_line(call.in[0], rows.position(0, row));
      const Line r = row_line(call.in[1], rows.position(1, row));
      const int64_t to = rows.position(2, row);
      float* total = in_place ? reinterpret_cast<float*>(sum.data) + to : reinterpret_cast<float*>(team.scratch(lane));
      double squares = 0;
      for_pieces(columns, [&](int64_t begin, int64_t size) {
        const float* a = x.piece(begin, size, x_buffer.data());
        const float* b = r.piece(begin, size, r_buffer.data());
        float* out = total + begin;
        squares += lane_sum(size, [=](int64_t i) {
          const float value = a[i] + b[i];
          out[i] = value;
          return value * value;
        });
        if (stored) store_line(out, size, sum, to + begin, 1);
      });
      const float rstd = rstd_of(squares, columns, eps);
      for_pieces(columns, [&](int64_t begin, int64_t size) {
        normalise(total + begin, weight.piece(begin, size, weight_buffer.data()), rstd, size, call.out[1],
                  rows.position(3, row) + begin);
      });
      put_number(rstd, call.out[2], rows.position(4, row));
    }
  });
}

// ---- backward

// One row: grad x = rstd (g - xhat mean(g xhat)), g = grad_y weight, xhat = x rstd, and what comes past the norm;
// adds to the weight's gradient. grad x may stand where one of the others does.
template <bool with_past>
struct BackwardRow {
  Line past, grad, x, weight;
  float rstd;
  int64_t columns;

  void operator()(const TensorView& grad_x, int64_t to, float* grad_weight) const {
    alignas(64) Piece past_buffer;
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
      const float* add = with_past ? past.piece(begin, size, past_buffer.data()) : nullptr;
      write_piece(grad_x, to + begin, size, [=](float* out) {
#pragma omp simd
        for (int64_t i = 0; i < size; ++i) {
          const float value = scale * (g[i] * w[i] - from[i] * factor);
          if constexpr (with_past) {
            out[i] = value + add[i];
          } else {
            out[i] = value;
          }
        }
      });
    });
  }
};

// Inputs: what comes past the norm, where there is such; grad_y, x, rstd, weight.
template <bool with_past>
void launch_backward(const KernelCall& call) {
  const std::span<const TensorView> in = call.in.subspan(with_past ? 1 : 0);
  const TensorView& past = call.in[0];
  const TensorView& grad_x = call.out[0];
  const int64_t columns = in[1].shape().back();
  const Rows rows({&in[0], &in[1], &in[2], &grad_x, &past});
  auto* partial = reinterpret_cast<float*>(call.workspace);  // [parts, C]
  cpu::Team& team = cpu::team_of(call);
  const int64_t parts = parts_of(rows.count());
  team.parallel_for(parts, [&](int64_t part) {
    float* grad_weight = partial + part * columns;
    for (int64_t i = 0; i < columns; ++i) grad_weight[i] = 0;
    const int64_t first = part * kRowsOfPart;
    const int64_t last = first + kRowsOfPart < rows.count() ? first + kRowsOfPart : rows.count();
    for (int64_t row = first; row < last; ++row) {
      const BackwardRow<with_past> backward{
          row_line(past, rows.position(4, row)),   row_line(in[0], rows.position(0, row)),
          row_line(in[1], rows.position(1, row)),  vector_line(in[3]),
          number_at(in[2], rows.position(2, row)), columns};
      backward(grad_x, rows.position(3, row), grad_weight);
    }
  });
  team.parallel_blocks(columns, kStripSize, [&](int64_t begin, int64_t end) {
    add_parts(partial, parts, columns, begin, end - begin, call.out[1]);
  });
}

int64_t backward_workspace(const Signature& signature) {
  const int64_t columns = signature.out[1].numel();
  const int64_t rows = columns == 0 ? 0 : signature.out[0].numel() / columns;
  return (Size(parts_of(rows)) * columns * static_cast<int64_t>(sizeof(float))).value();
}

std::string add_refusal(const Signature& signature) {
  if (signature.out[0].shape().back() > kLongestRow) return "a row that is longer than a thread's scratch";
  return pointwise_refusal(signature);
}

template <size_t rstd>
std::string backward_refusal(const Signature& signature) {
  if (signature.in[rstd].dtype != DType::kFloat32) return "rstd is not float32";
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
       .supports = backward_refusal<2>,
       .workspace = backward_workspace,
       .launch = launch_backward<false>},
      {.op = &kAddRmsNorm,
       .name = isa_name("rows"),
       .supports = add_refusal,
       .workspace = nullptr,
       .launch = launch_add},
      {.op = &kAddRmsNormBackward,
       .name = isa_name("parts"),
       .supports = backward_refusal<3>,
       .workspace = backward_workspace,
       .launch = launch_backward<true>},
  };
}

}  // namespace laptime::LAPTIME_ISA
