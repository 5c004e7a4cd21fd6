// Attention as matrix products of whole rows of scores, for heads too wide to pack: a group of rows of one head at a
// time, by every thread together. If causal, a group takes no keys behind its last row.
#pragma once

#include <initializer_list>
#include <type_traits>

#include "backend/cpu/gemm/gemm_kernels.h"
#include "ops/scaled_dot_product_attention/backward_cpu.h"
#include "ops/scaled_dot_product_attention/vector_math_cpu.h"

namespace laptime::LAPTIME_ISA::attention::products {

// Rows of queries in a group: few enough that a causal group multiplies few masked scores, and many enough that a
// product is fast. They depend on the shape alone, and so do the bits of the gradients.
constexpr int64_t kMostRows = 256;
inline int64_t group_rows(int64_t positions) {
  constexpr int64_t kFewest = 64;
  constexpr int64_t kGroups = 8;
  return std::min(positions, std::clamp(align_up(ceil_div(positions, kGroups), kFewest), kFewest, kMostRows));
}

// Rows [row, row + rows) of queries, and the keys [0, keys) that some of them sees.
struct Group {
  int64_t row = 0, rows = 0, keys = 0;

  // Keys that row `i` of the group sees.
  int64_t visible_keys(bool causal, int64_t i) const { return causal ? row + i + 1 : keys; }
};

template <class Body>
void for_groups(const AttentionShape& shape, const Body& body) {
  const int64_t rows = group_rows(shape.positions);
  for (int64_t row = 0; row < shape.positions; row += rows) {
    const int64_t end = std::min(row + rows, shape.positions);
    body(Group{row, end - row, shape.causal ? end : shape.positions});
  }
}

// A factor of a product: element (i, j) is at i * row_stride + j * column_stride.
struct Factor {
  cpu::GemmOperand operand;
  int64_t row_stride = 0, column_stride = 1;

  Factor transposed() const { return {operand, column_stride, row_stride}; }
};
template <class Element>
constexpr DType kTypeOf = std::is_same_v<Element, BFloat16>  ? DType::kBFloat16
                          : std::is_same_v<Element, Float16> ? DType::kFloat16
                                                             : DType::kFloat32;
template <class Element>
Factor factor(HeadRows<const Element> rows) {
  return {{true, kTypeOf<Element>, reinterpret_cast<const std::byte*>(rows.data)}, rows.stride, 1};
}
inline Factor factor(const float* rows, int64_t columns) {
  return {{true, DType::kFloat32, reinterpret_cast<const std::byte*>(rows)}, columns, 1};
}

// c [m, n] = a [m, k] b [k, n], or that added to c, by Implementation, one of those of gemm_kernels.h.
template <class Implementation>
void multiply(cpu::Team& team, int64_t m, int64_t n, int64_t k, const Factor& a, const Factor& b, float* c,
              bool adds = false) {
  cpu::Gemm gemm;
  gemm.shape = {.batches = 1,
                .m = m,
                .n = n,
                .k = k,
                .a = {0, a.row_stride, a.column_stride},
                .b = {0, b.row_stride, b.column_stride}};
  gemm.a = a.operand;
  gemm.b = b.operand;
  gemm.c = reinterpret_cast<std::byte*>(c);
  if (adds) {
    gemm.addend = {true, DType::kFloat32, gemm.c};
    gemm.addend_layout = {0, n, 1};
  }
  Implementation::run(team, gemm);
}

// The first `count` elements as RowLanes, and `padding` behind them.
inline RowLanes load_lanes(const float* from, int64_t count, float padding) {
  RowLanes lanes;
  if (count >= kRowLanes) {
    for (size_t v = 0; v < kRowVectors; ++v) lanes[v] = load(from + v * kLanes);
    return lanes;
  }
  alignas(64) std::array<float, kRowLanes> padded;
  padded.fill(padding);
  std::copy_n(from, count, padded.data());
  for (size_t v = 0; v < kRowVectors; ++v) lanes[v] = load(padded.data() + v * kLanes);
  return lanes;
}
inline void store_lanes(float* to, int64_t count, const RowLanes& lanes) {
  if (count >= kRowLanes) {
    for (size_t v = 0; v < kRowVectors; ++v) store(to + v * kLanes, lanes[v]);
    return;
  }
  alignas(64) std::array<float, kRowLanes> all;
  for (size_t v = 0; v < kRowVectors; ++v) store(all.data() + v * kLanes, lanes[v]);
  std::copy_n(all.data(), count, to);
}

inline float largest(const float* from, int64_t size) {
  constexpr float kLeast = -__builtin_inff();
  RowLanes lanes;
  lanes.fill(Vector{} + kLeast);
  for (int64_t i = 0; i < size; i += kRowLanes) {
    const RowLanes next = load_lanes(from + i, size - i, kLeast);
    for (size_t v = 0; v < kRowVectors; ++v) lanes[v] = max(lanes[v], next[v]);
  }
  float most = kLeast;
  for (const Vector& lane : lanes) {
    for (int i = 0; i < kLanes; ++i) most = lane[i] > most ? lane[i] : most;
  }
  return most;
}

// 2^(factor x - shift)
inline Vector power(const Vector& x, float factor, float shift) {
  return exp2(multiply_add(factor, x, Vector{} - shift));
}

// Turns the first `keys` of `end` scores into weights 2^(factor score - row_max) and the others into zeros. Returns
// the sum of the weights.
inline float softmax_row(float* scores, int64_t keys, int64_t end, float factor, float row_max) {
  RowLanes sums{};
  for (int64_t i = 0; i < keys; i += kRowLanes) {
    RowLanes lanes = load_lanes(scores + i, keys - i, -__builtin_inff());
    for (size_t v = 0; v < kRowVectors; ++v) {
      lanes[v] = power(lanes[v], factor, row_max);
      sums[v] += lanes[v];
    }
    store_lanes(scores + i, keys - i, lanes);
  }
  std::fill(scores + keys, scores + end, 0.0F);
  return lane_sum(folded(sums))[0];
}

// Multiplies the weights of the first `keys` keys by their dropout factors.
inline void drop_row(const AttentionShape& shape, int64_t head, int64_t row, int64_t keys, float* weights) {
  alignas(64) std::array<float, kRowLanes> factors;
  for (int64_t i = 0; i < keys; i += kRowLanes) {
    const int64_t count = std::min<int64_t>(kRowLanes, keys - i);
    shape.dropout_factors(head, row, i, count, factors.data());
    for (int64_t j = 0; j < count; ++j) weights[i + j] *= factors[static_cast<size_t>(j)];
  }
}

// Turns the scores of row `i` of a group into weights, after dropout, and grads . v into the gradients of the scores,
// still to be scaled: (dropout grads . v - values . grads) weight. Both become zero behind the keys that the row sees.
template <class Element>
void differentiate_row(const BackwardHead<Element>& operands, int64_t head, const Group& group, int64_t i,
                       float* weights, float* grad_scores) {
  const AttentionShape& shape = operands.shape;
  const int64_t row = group.row + i;
  const int64_t keys = group.visible_keys(shape.causal, i);
  const float shift = *operands.log_sum_exp[row] * kLog2E;
  const float grad_dot_values = dot(operands.values[row], operands.grad_values[row], shape.width);
  alignas(64) std::array<float, kRowLanes> factors;
  factors.fill(1);
  for (int64_t key = 0; key < keys; key += kRowLanes) {
    const int64_t count = std::min<int64_t>(kRowLanes, keys - key);
    if (shape.drops) shape.dropout_factors(head, row, key, count, factors.data());
    RowLanes weight = load_lanes(weights + key, count, 0);
    RowLanes grad = load_lanes(grad_scores + key, count, 0);
    for (size_t v = 0; v < kRowVectors; ++v) {
      const Vector kept = load(factors.data() + v * kLanes);
      weight[v] = power(weight[v], shape.scale() * kLog2E, shift);
      grad[v] = multiply_add(grad[v], kept, Vector{} - grad_dot_values) * weight[v];
      weight[v] *= kept;
    }
    store_lanes(weights + key, count, weight);
    store_lanes(grad_scores + key, count, grad);
  }
  std::fill(weights + keys, weights + group.keys, 0.0F);
  std::fill(grad_scores + keys, grad_scores + group.keys, 0.0F);
}

// The workspace of a call, one part behind the other.
class Parts {
 public:
  explicit Parts(std::byte* workspace) : next_(reinterpret_cast<float*>(workspace)) {}

  float* take(int64_t floats) {
    float* const part = next_;
    if (next_ != nullptr) next_ += align_up(floats, kRowLanes);
    return part;
  }
  static Size bytes(std::initializer_list<Size> floats) {
    Size all(0);
    for (const Size& part : floats) all = all + align_up(part.value(), kRowLanes);
    return all * int64_t{sizeof(float)};
  }

 private:
  float* next_;
};

inline int64_t forward_workspace(const Signature& signature) {
  const Shape& shape = signature.in[0].shape();  // [B, h, T, d]
  const Size rows(group_rows(shape[2]));
  return Parts::bytes({rows * shape[2], rows * shape[3]}).value();
}

// (q [B, h, T, d], k, v[, step]) -> (values [B, h, T, d], log_sum_exp [B, h, T, 1])
template <class Implementation, class Element>
void forward(const KernelCall& call) {
  const AttentionShape shape(call, kForwardStep);
  cpu::Team& team = cpu::team_of(call);
  const int64_t most_rows = group_rows(shape.positions);
  Parts parts(call.workspace);
  float* const scores = parts.take(most_rows * shape.positions);  // [rows, keys]
  float* const sums = parts.take(most_rows * shape.width);        // [rows, d]
  const float exponent = shape.scale() * kLog2E;
  for (int64_t head = 0; head < shape.heads; ++head) {
    const auto q = head_rows<const Element>(call.in[0], head);
    const auto k = head_rows<const Element>(call.in[1], head);
    const auto v = head_rows<const Element>(call.in[2], head);
    const ForwardOutput<Element> output(call, shape, head);
    for_groups(shape, [&](const Group& group) {
      multiply<Implementation>(team, group.rows, group.keys, shape.width, factor(q.from(group.row)),
                               factor(k).transposed(), scores);
      alignas(64) std::array<float, size_t{2} * kMostRows> row_figures;  // of each row: the maximum and the sum
      team.parallel_for(group.rows, [&](int64_t i) {
        float* const row = scores + i * group.keys;
        const int64_t keys = group.visible_keys(shape.causal, i);
        const float row_max = exponent * largest(row, keys);
        const float row_sum = softmax_row(row, keys, group.keys, exponent, row_max);
        row_figures[static_cast<size_t>(2 * i)] = row_max;
        row_figures[static_cast<size_t>(2 * i + 1)] = row_sum;
        if (shape.drops) drop_row(shape, head, group.row + i, keys, row);
      });
      multiply<Implementation>(team, group.rows, shape.width, group.keys, factor(scores, group.keys), factor(v), sums);
      team.parallel_for(group.rows, [&](int64_t i) {
        output.put(group.row + i, sums + i * shape.width, row_figures[static_cast<size_t>(2 * i)],
                   row_figures[static_cast<size_t>(2 * i + 1)]);
      });
    });
  }
}

inline int64_t backward_workspace(const Signature& signature) {
  const Shape& shape = signature.in[0].shape();  // [B, h, T, d]
  const Size rows(group_rows(shape[2]));
  const Size head(Size(shape[2]) * shape[3]);
  return Parts::bytes({rows * shape[2], rows * shape[2], rows * shape[3], head, head}).value();
}

// (q [B, h, T, d], k, v, values, log_sum_exp [B, h, T, 1], grad_values[, step])
//   -> (grad_q [B, h, T, d], grad_k, grad_v)
template <class Implementation, class Element>
void backward(const KernelCall& call) {
  const AttentionShape shape(call, kBackwardStep);
  cpu::Team& team = cpu::team_of(call);
  const int64_t most_rows = group_rows(shape.positions);
  Parts parts(call.workspace);
  float* const weights = parts.take(most_rows * shape.positions);      // [rows, keys]
  float* const grad_scores = parts.take(most_rows * shape.positions);  // [rows, keys]
  float* const sums = parts.take(most_rows * shape.width);             // [rows, d]: of grad_q
  float* const grad_k = parts.take(shape.positions * shape.width);     // [T, d]
  float* const grad_v = parts.take(shape.positions * shape.width);     // [T, d]
  for (int64_t head = 0; head < shape.heads; ++head) {
    const BackwardHead<Element> operands(call, shape, head);
    const auto add = [&](const Group& group, const float* left, HeadRows<const Element> right, float* to) {
      multiply<Implementation>(team, group.keys, shape.width, group.rows, factor(left, group.keys).transposed(),
                               factor(right.from(group.row)), to, true);
    };
    team.parallel_for(shape.positions, [&](int64_t row) {
      std::fill_n(grad_k + row * shape.width, shape.width, 0.0F);
      std::fill_n(grad_v + row * shape.width, shape.width, 0.0F);
    });
    for_groups(shape, [&](const Group& group) {
      multiply<Implementation>(team, group.rows, group.keys, shape.width, factor(operands.q.from(group.row)),
                               factor(operands.k).transposed(), weights);
      multiply<Implementation>(team, group.rows, group.keys, shape.width, factor(operands.grad_values.from(group.row)),
                               factor(operands.v).transposed(), grad_scores);
      team.parallel_for(group.rows, [&](int64_t i) {
        differentiate_row(operands, head, group, i, weights + i * group.keys, grad_scores + i * group.keys);
      });
      add(group, weights, operands.grad_values, grad_v);
      add(group, grad_scores, operands.q, grad_k);
      multiply<Implementation>(team, group.rows, shape.width, group.keys, factor(grad_scores, group.keys),
                               factor(operands.k), sums);
      team.parallel_for(group.rows, [&](int64_t i) {
        write_row(sums + i * shape.width, shape.width, shape.scale(), operands.grad_q[group.row + i]);
      });
    });
    team.parallel_for(shape.positions, [&](int64_t row) {
      write_row(grad_k + row * shape.width, shape.width, shape.scale(), operands.grad_k[row]);
      write_row(grad_v + row * shape.width, shape.width, 1, operands.grad_v[row]);
    });
  }
}

}  // namespace laptime::LAPTIME_ISA::attention::products
