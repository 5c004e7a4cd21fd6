// Kernels of layer norm and RMSNorm. Forward processes one row at a time. Backward divides the rows into parts, each
// with its own sums for the gradients of weight and bias, so that the order of additions does not depend on the
// number of threads.
#include "ops/norm/norm.h"

#include "backend/cpu/vector/rows.h"

namespace laptime::LAPTIME_ISA {
namespace {

struct Statistics {
  float mean, rstd;  // RMSNorm has no mean
};

// Operands of one row, of C elements, in the backward op.
struct BackwardRow {
  RowView grad_y, x, weight, addend;
  Statistics statistics;
  int64_t columns;
};

double line_sum(const RowView& x, int64_t columns) {
  alignas(64) ChunkBuffer buffer;
  double sum = 0;
  for_chunks(columns, [&](int64_t begin, int64_t size) {
    const float* from = x.chunk(begin, size, buffer.data());
    sum += lane_sum(size, [=](int64_t i) { return from[i]; });
  });
  return sum;
}

float rstd_of(double squares, int64_t columns, double eps) {
  return static_cast<float>(1 / __builtin_sqrt(squares / static_cast<double>(columns) + eps));
}

// The formulas of layer norm; RmsNorm below has the same members. The last argument of add_row points to C sums for
// grad_weight and, in layer norm, C sums for grad_bias.
struct LayerNorm {
  using Attributes = LayerNormAttributes;
  static constexpr int64_t kParameters = 2;  // weight and bias; there are as many statistics

  static Statistics statistics(const RowView& x, int64_t columns, double eps) {
    const auto mean = static_cast<float>(line_sum(x, columns) / static_cast<double>(columns));
    alignas(64) ChunkBuffer buffer;
    double squares = 0;
    for_chunks(columns, [&](int64_t begin, int64_t size) {
      const float* from = x.chunk(begin, size, buffer.data());
      squares += lane_sum(size, [=](int64_t i) { return (from[i] - mean) * (from[i] - mean); });
    });
    return {mean, rstd_of(squares, columns, eps)};
  }
  static float y(const Statistics& s, float x, float weight, float bias) {
    return (x - s.mean) * s.rstd * weight + bias;
  }

  // The mean of g = grad_y weight over the row, and the mean of g xhat, where xhat = (x - mean) rstd.
  struct Means {
    double g, g_xhat;
  };
  static Means add_row(const BackwardRow& row, float* parameters) {
    alignas(64) ChunkBuffer grad_buffer;
    alignas(64) ChunkBuffer x_buffer;
    alignas(64) ChunkBuffer weight_buffer;
    const auto [mean, rstd] = row.statistics;
    double sum = 0;
    double product = 0;
    for_chunks(row.columns, [&, mean = mean, rstd = rstd](int64_t begin, int64_t size) {
      const float* g = row.grad_y.chunk(begin, size, grad_buffer.data());
      const float* x = row.x.chunk(begin, size, x_buffer.data());
      const float* w = row.weight.chunk(begin, size, weight_buffer.data());
      sum += lane_sum(size, [=](int64_t i) { return g[i] * w[i]; });
      product += lane_sum(size, [=](int64_t i) { return g[i] * w[i] * ((x[i] - mean) * rstd); });
      float* grad_weight = parameters + begin;
      float* grad_bias = parameters + row.columns + begin;
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) {
        grad_weight[i] += g[i] * ((x[i] - mean) * rstd);
        grad_bias[i] += g[i];
      }
    });
    return {sum / static_cast<double>(row.columns), product / static_cast<double>(row.columns)};
  }
  // rstd (g - mean(g) - xhat mean(g xhat)), in float64 because the three terms cancel.
  static float grad_x(const Statistics& s, const Means& means, float grad_y, float x, float weight) {
    const double difference =
        static_cast<double>(grad_y) * weight - means.g - (static_cast<double>(x) - s.mean) * s.rstd * means.g_xhat;
    return static_cast<float>(s.rstd * difference);
  }
};

struct RmsNorm {
  using Attributes = RmsNormAttributes;
  static constexpr int64_t kParameters = 1;

  static Statistics statistics(const RowView& x, int64_t columns, double eps) {
    alignas(64) ChunkBuffer buffer;
    double squares = 0;
    for_chunks(columns, [&](int64_t begin, int64_t size) {
      const float* from = x.chunk(begin, size, buffer.data());
      squares += lane_sum(size, [=](int64_t i) { return from[i] * from[i]; });
    });
    return {0, rstd_of(squares, columns, eps)};
  }
  static float y(const Statistics& s, float x, float weight, float) { return weight * (x * s.rstd); }

  // rstd mean(g xhat), where g = grad_y weight and xhat = x rstd.
  using Means = float;
  static Means add_row(const BackwardRow& row, float* grad_weight_sums) {
    alignas(64) ChunkBuffer grad_buffer;
    alignas(64) ChunkBuffer x_buffer;
    alignas(64) ChunkBuffer weight_buffer;
    const float rstd = row.statistics.rstd;
    double product = 0;
    for_chunks(row.columns, [&](int64_t begin, int64_t size) {
      const float* g = row.grad_y.chunk(begin, size, grad_buffer.data());
      const float* x = row.x.chunk(begin, size, x_buffer.data());
      const float* w = row.weight.chunk(begin, size, weight_buffer.data());
      float* grad_weight = grad_weight_sums + begin;
      product += lane_sum(size, [=](int64_t i) {
        const float term = g[i] * (x[i] * rstd);
        grad_weight[i] += term;
        return term * w[i];
      });
    });
    return rstd * static_cast<float>(product / static_cast<double>(row.columns));
  }
  // rstd (g - xhat mean(g xhat))
  static float grad_x(const Statistics& s, Means scaled_mean, float grad_y, float x, float weight) {
    return s.rstd * (grad_y * weight - x * scaled_mean);
  }
};

// (x [..., C], weight [C][, bias [C]]) -> (y [..., C][, mean [..., 1]], rstd [..., 1])
template <class Norm>
void launch_forward(const KernelCall& call) {
  constexpr bool kBias = Norm::kParameters == 2;
  const double eps = call.attributes.as<typename Norm::Attributes>().eps;
  const TensorView& x = call.in[0];
  const TensorView& y = call.out[0];
  const TensorView& mean = call.out[1];
  const TensorView& rstd = call.out[Norm::kParameters];
  const RowView weight = vector_view(call.in[1]);
  const RowView bias = vector_view(call.in[Norm::kParameters]);
  const int64_t columns = x.shape().back();
  const Rows rows({&x, &y, &mean, &rstd});
  cpu::team_of(call).parallel_blocks(rows.count(), Rows::per_block(columns), [&](int64_t first, int64_t last) {
    alignas(64) ChunkBuffer buffer;
    alignas(64) ChunkBuffer weight_buffer;
    alignas(64) ChunkBuffer bias_buffer;
    for (int64_t row = first; row < last; ++row) {
      const RowView x_row = row_view(x, rows.position(0, row));
      const Statistics statistics = Norm::statistics(x_row, columns, eps);
      for_chunks(columns, [&](int64_t begin, int64_t size) {
        const float* from = x_row.chunk(begin, size, buffer.data());
        const float* w = weight.chunk(begin, size, weight_buffer.data());
        const float* b = kBias ? bias.chunk(begin, size, bias_buffer.data()) : w;
        write_chunk(y, rows.position(1, row) + begin, size, [=](float* out) {
#pragma omp simd
          for (int64_t i = 0; i < size; ++i) out[i] = Norm::y(statistics, from[i], w[i], b[i]);
        });
      });
      if (kBias) put_float(statistics.mean, mean, rows.position(2, row));
      put_float(statistics.rstd, rstd, rows.position(3, row));
    }
  });
}

// Writes one row of grad_x, and adds to the sums in `parameters`. grad_x may overwrite one of the inputs.
template <class Norm, bool with_addend>
void backward_row(const BackwardRow& row, const TensorView& grad_x, int64_t to, float* parameters) {
  const auto means = Norm::add_row(row, parameters);
  alignas(64) ChunkBuffer grad_buffer;
  alignas(64) ChunkBuffer x_buffer;
  alignas(64) ChunkBuffer weight_buffer;
  alignas(64) ChunkBuffer addend_buffer;
  for_chunks(row.columns, [&](int64_t begin, int64_t size) {
    const float* g = row.grad_y.chunk(begin, size, grad_buffer.data());
    const float* x = row.x.chunk(begin, size, x_buffer.data());
    const float* w = row.weight.chunk(begin, size, weight_buffer.data());
    const float* add = with_addend ? row.addend.chunk(begin, size, addend_buffer.data()) : nullptr;
    write_chunk(grad_x, to + begin, size, [=, statistics = row.statistics](float* out) {
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) {
        const float value = Norm::grad_x(statistics, means, g[i], x[i], w[i]);
        if constexpr (with_addend) {
          out[i] = value + add[i];
        } else {
          out[i] = value;
        }
      }
    });
  });
}

// (grad_y [..., C], x [..., C][, mean [..., 1]], rstd [..., 1], weight [C][, addend [..., C]])
//   -> (grad_x [..., C], grad_weight [C][, grad_bias [C]])
template <class Norm, bool with_addend>
void launch_backward(const KernelCall& call) {
  constexpr int64_t kParameters = Norm::kParameters;
  const std::span<const TensorView> in = call.in;
  const TensorView& mean = in[2];
  const TensorView& rstd = in[1 + kParameters];
  const TensorView& addend = in[with_addend ? 3 + kParameters : 0];
  const TensorView& grad_x = call.out[0];
  const int64_t columns = in[1].shape().back();
  const Rows rows({&in[0], &in[1], &mean, &rstd, &addend, &grad_x});
  auto* const partial = reinterpret_cast<float*>(call.workspace);  // [parts, kParameters, C]
  cpu::Team& team = cpu::team_of(call);
  const int64_t parts = part_count(rows.count());
  const auto add_rows = [&](int64_t part) {
    float* const parameters = partial + part * kParameters * columns;
    for (int64_t i = 0; i < kParameters * columns; ++i) parameters[i] = 0;
    const int64_t first = part * kRowsPerPart;
    const int64_t last = first + kRowsPerPart < rows.count() ? first + kRowsPerPart : rows.count();
    for (int64_t row = first; row < last; ++row) {
      const BackwardRow operands{
          .grad_y = row_view(in[0], rows.position(0, row)),
          .x = row_view(in[1], rows.position(1, row)),
          .weight = vector_view(in[2 + kParameters]),
          .addend = row_view(addend, rows.position(4, row)),
          .statistics = {float_at(mean, rows.position(2, row)), float_at(rstd, rows.position(3, row))},
          .columns = columns};
      backward_row<Norm, with_addend>(operands, grad_x, rows.position(5, row), parameters);
    }
  };
  const auto sum_columns = [&](int64_t begin, int64_t end) {
    for (int64_t k = 0; k < kParameters; ++k) {
      sum_parts(partial + k * columns, parts, kParameters * columns, begin, end - begin,
                call.out[static_cast<size_t>(k) + 1]);
    }
  };
  team.parallel_ranges(parts, add_rows, moving((with_addend ? 4 : 3) * rows.count() * columns));
  team.parallel_blocks(columns, kStripSize, sum_columns, moving(kParameters * parts * columns));
}

template <class Norm>
void launch_any_backward(const KernelCall& call) {
  const bool addend = call.attributes.as<NormBackwardAttributes>().addend;
  addend ? launch_backward<Norm, true>(call) : launch_backward<Norm, false>(call);
}

template <class Norm>
int64_t backward_workspace(const Signature& signature) {
  const int64_t columns = signature.in[1].shape().back();
  const int64_t rows = columns == 0 ? 0 : signature.in[1].numel() / columns;
  return (Size(part_count(rows)) * Norm::kParameters * columns * static_cast<int64_t>(sizeof(float))).value();
}

template <class Norm>
std::string backward_refusal(const Signature& signature) {
  for (size_t k = 0; k < Norm::kParameters; ++k) {
    if (signature.in[2 + k].dtype != DType::kFloat32) return "the statistics are not float32";
  }
  return pointwise_refusal(signature);
}

template <class Norm>
std::vector<Kernel> kernels(const OpCard& forward, const OpCard& backward) {
  return {{.op = &forward, .name = isa_name("rows"), .supports = pointwise_refusal, .launch = launch_forward<Norm>},
          {.op = &backward,
           .name = isa_name("parts"),
           .supports = backward_refusal<Norm>,
           .workspace = backward_workspace<Norm>,
           .launch = launch_any_backward<Norm>}};
}

}  // namespace

std::vector<Kernel> norm_kernels() {
  std::vector<Kernel> both = kernels<LayerNorm>(kLayerNorm, kLayerNormBackward);
  for (Kernel& kernel : kernels<RmsNorm>(kRmsNorm, kRmsNormBackward)) both.push_back(std::move(kernel));
  return both;
}

}  // namespace laptime::LAPTIME_ISA
