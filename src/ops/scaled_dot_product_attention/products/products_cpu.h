// Attention as matrix products of whole rows of scores, for heads too wide to pack. All threads together process one
// group of rows of one head, or several short heads, at a time. If causal, a group skips the keys after its last row.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <type_traits>

#include "backend/cpu/gemm/gemm_kernels.h"
#include "backend/workspace.h"
#include "ops/scaled_dot_product_attention/backward_cpu.h"
#include "ops/scaled_dot_product_attention/vector_math_cpu.h"

namespace laptime::LAPTIME_ISA::attention::products {

// The maximum number of query rows in a group: small enough that a causal group multiplies few masked scores, but large
// enough for fast products. The groups, and thus the bits of the gradients, depend only on the shape.
constexpr int64_t kMostRows = 512;
inline int64_t group_rows(int64_t positions) {
  constexpr int64_t kFewest = 128;
  constexpr int64_t kGroups = 4;
  return std::min(positions, std::clamp(align_up(ceil_div(positions, kGroups), int64_t{64}), kFewest, kMostRows));
}

// Rows [row, row + rows) of queries, and the keys [0, keys) that any of them can attend to.
struct Group {
  int64_t row = 0, rows = 0, keys = 0;

  // Number of keys visible to row `i` of the group.
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

// A factor of one product, or of products of several heads: element (i, j) of the first head is at i * row_stride + j *
// column_stride, and each following head is head_stride elements further.
struct Factor {
  cpu::GemmOperand operand;
  int64_t head_stride = 0, row_stride = 0, column_stride = 1;

  Factor transposed() const { return {operand, head_stride, column_stride, row_stride}; }
};
template <class Element>
constexpr DType kTypeOf = std::is_same_v<Element, BFloat16>  ? DType::kBFloat16
                          : std::is_same_v<Element, Float16> ? DType::kFloat16
                                                             : DType::kFloat32;
inline Factor factor(const float* rows, int64_t row_count, int64_t columns) {
  return {{true, DType::kFloat32, reinterpret_cast<const std::byte*>(rows)}, row_count * columns, columns, 1};
}

// The distance between consecutive heads of an operand [B, h, T, d], counted over all batches; nothing if the distance
// varies.
inline std::optional<int64_t> head_stride(const TensorType& type) {
  const Shape& shape = type.shape();
  const auto& strides = type.layout.strides;
  if (shape[1] == 1) return strides[0];
  if (shape[0] == 1 || strides[0] == shape[1] * strides[1]) return strides[1];
  return std::nullopt;
}

// True if a product for this many heads can be written directly to a result, which must be float32 without gaps.
inline bool is_direct(const TensorType& type, int64_t heads) {
  const Shape& shape = type.shape();
  return type.dtype == DType::kFloat32 && type.layout.strides[2] == shape[3] &&
         (heads == 1 || head_stride(type) == shape[2] * shape[3]);
}

// The number of heads that are multiplied together: several if each head is a single group, because a product of few
// rows has too little work for all threads; one if the distance between the heads of an operand varies, or if query
// heads share keys.
inline int64_t heads_at_once(std::span<const TensorType> in, std::span<const TensorType> out) {
  constexpr int64_t kMostFloats = int64_t{1} << 23U;  // limit for the scores and rows of these heads
  const Shape& shape = in[0].shape();
  if (group_rows(shape[2]) < shape[2] || in[1].shape()[1] != shape[1]) return 1;
  for (const std::span<const TensorType>& types : {in, out}) {
    for (const TensorType& type : types) {
      if (type.shape().rank() == 4 && !head_stride(type)) return 1;
    }
  }
  return std::clamp<int64_t>(kMostFloats / (shape[2] * (shape[2] + shape[3])), 1, shape[0] * shape[1]);
}

// Heads [first, first + count).
struct Heads {
  int64_t first = 0, count = 1;

  // The key heads that these query heads read.
  Heads of_keys(const AttentionShape& shape) const { return {shape.kv_head(first), count}; }
};

// Describes an operand as a factor, starting at row `row` of the first head.
template <class Element>
Factor factor(const TensorView& view, const Heads& heads, int64_t row) {
  const HeadRows<const Element> rows = head_rows<const Element>(view, heads.first);
  return {{true, kTypeOf<Element>, reinterpret_cast<const std::byte*>(rows[row])},
          head_stride(view.type).value_or(0),
          rows.stride,
          1};
}

// Returns the rows of a result if a product can be written to them directly, otherwise null.
template <class Element>
float* direct_result(const TensorView& view, const Heads& heads, int64_t row) {
  if constexpr (std::is_same_v<Element, float>) {
    return is_direct(view.type, heads.count) ? head_rows<float>(view, heads.first)[row] : nullptr;
  } else {
    return nullptr;
  }
}

struct ProductSize {
  int64_t heads, m, n, k;
};
// Computes c [heads, m, n] = a [heads, m, k] b [heads, k, n], or adds the product to c if `adds`. Implementation is one
// of the GEMM implementations in gemm_kernels.h.
template <class Implementation>
void multiply(cpu::Team& team, const ProductSize& size, const Factor& a, const Factor& b, float* c, bool adds = false) {
  cpu::Gemm gemm;
  gemm.shape = {.batches = size.heads,
                .m = size.m,
                .n = size.n,
                .k = size.k,
                .a = {a.head_stride, a.row_stride, a.column_stride},
                .b = {b.head_stride, b.row_stride, b.column_stride}};
  gemm.a = a.operand;
  gemm.b = b.operand;
  gemm.c = reinterpret_cast<std::byte*>(c);
  if (adds) {
    gemm.addend = {true, DType::kFloat32, gemm.c};
    gemm.addend_layout = {size.m * size.n, size.n, 1};
  }
  Implementation::run(team, gemm);
}

// Loads the first `count` elements as RowLanes and fills the rest with `padding`.
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

inline float max_of_row(const float* from, int64_t size) {
  constexpr float kLeast = -__builtin_inff();
  RowLanes lanes;
  lanes.fill(Vector{} + kLeast);
  for (int64_t i = 0; i < size; i += kRowLanes) {
    const RowLanes next = load_lanes(from + i, size - i, kLeast);
    for (size_t v = 0; v < kRowVectors; ++v) lanes[v] = max(lanes[v], next[v]);
  }
  float row_max = kLeast;
  for (const Vector& lane : lanes) {
    for (int i = 0; i < kLanes; ++i) row_max = lane[i] > row_max ? lane[i] : row_max;
  }
  return row_max;
}

// 2^(factor x - shift)
inline Vector power(const Vector& x, float factor, float shift) {
  return exp2(multiply_add(factor, x, Vector{} - shift));
}

// Turns the first `keys` of `end` scores into weights 2^(factor score - row_max), and the others into zeros. Returns
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

// Turns the scores of row `i` of a group into weights, after dropout, and grads . v into the gradients of the unscaled
// scores: scale * (dropout * (grads . v) - values . grads) * weight. Both become zero for keys that the row cannot
// attend to.
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
      grad[v] = multiply_add(grad[v], kept, Vector{} - grad_dot_values) * weight[v] * shape.scale();
      weight[v] *= kept;
    }
    store_lanes(weights + key, count, weight);
    store_lanes(grad_scores + key, count, grad);
  }
  std::fill(weights + keys, weights + group.keys, 0.0F);
  std::fill(grad_scores + keys, grad_scores + group.keys, 0.0F);
}

// Writes rows [row, row + count) of the heads of a result, from sums [heads, count, d].
template <class Element>
void write_rows(cpu::Team& team, const TensorView& view, const Heads& heads, int64_t row, int64_t count,
                const AttentionShape& shape, const float* sums) {
  const auto write = [&](int64_t index) {
    write_row(sums + index * shape.width, shape.width, 1,
              head_rows<Element>(view, heads.first + index / count)[row + index % count]);
  };
  team.parallel_ranges(heads.count * count, write, moving(2 * heads.count * count * shape.width));
}

// How a call is divided, and the floats of workspace that it needs. Sums and gradients that are written directly to a
// result need none.
struct Division {
  int64_t heads_at_once = 1;
  Size scores, sums, grad_k, grad_v;

  Division(std::span<const TensorType> in, std::span<const TensorType> out)
      : heads_at_once(products::heads_at_once(in, out)) {
    const Shape& shape = in[0].shape();  // [B, h, T, d]
    const Size rows = Size(group_rows(shape[2])) * heads_at_once;
    const Size of_head = Size(shape[2]) * shape[3] * heads_at_once;
    scores = rows * shape[2];
    sums = is_direct(out[0], heads_at_once) ? Size(0) : rows * shape[3];
    if (out.size() < 3) return;  // forward has two outputs
    grad_k = is_direct(out[1], heads_at_once) ? Size(0) : of_head;
    grad_v = is_direct(out[2], heads_at_once) ? Size(0) : of_head;
  }
  static Division of(const KernelCall& call) {
    std::array<TensorType, 8> in;
    std::array<TensorType, 3> out;
    const auto type_of = [](const TensorView& view) { return view.type; };
    std::transform(call.in.begin(), call.in.end(), in.begin(), type_of);
    std::transform(call.out.begin(), call.out.end(), out.begin(), type_of);
    return {std::span(in).first(call.in.size()), std::span(out).first(call.out.size())};
  }
};

template <class Body>
void for_heads(const AttentionShape& shape, const Division& division, const Body& body) {
  for (int64_t head = 0; head < shape.heads; head += division.heads_at_once)
    body(Heads{head, std::min(division.heads_at_once, shape.heads - head)});
}

// The bytes of workspace for arrays with these numbers of floats.
inline int64_t workspace_bytes(std::initializer_list<Size> floats) {
  Workspace workspace(nullptr);
  for (const Size& of_array : floats) workspace.take<float>(of_array.value());
  return workspace.bytes();
}

inline int64_t forward_workspace(const Signature& signature) {
  const Division size(signature.in, signature.out);
  return workspace_bytes({size.scores, size.sums});
}

// (q [B, h, T, d], k, v[, step]) -> (values [B, h, T, d], log_sum_exp [B, h, T, 1])
template <class Implementation, class Element>
void forward(const KernelCall& call) {
  const AttentionShape shape(call, kForwardStep);
  const Division size = Division::of(call);
  cpu::Team& team = cpu::team_of(call);
  Workspace workspace(call.workspace);
  float* const scores = workspace.take<float>(size.scores.value());  // [heads, rows, keys]
  float* const sums = workspace.take<float>(size.sums.value());      // [heads, rows, d]
  const float exponent = shape.scale() * kLog2E;
  float* const log_sum_exp = call.out[1].data == nullptr ? nullptr : call.out[1].as<float>();
  for_heads(shape, size, [&](const Heads& heads) {
    for_groups(shape, [&](const Group& group) {
      multiply<Implementation>(team, {heads.count, group.rows, group.keys, shape.width},
                               factor<Element>(call.in[0], heads, group.row),
                               factor<Element>(call.in[1], heads.of_keys(shape), 0).transposed(), scores);
      const auto to_weights = [&](int64_t index) {
        const int64_t head = heads.first + index / group.rows;
        const int64_t i = index % group.rows;
        float* const row = scores + index * group.keys;
        const int64_t keys = group.visible_keys(shape.causal, i);
        const float row_max = exponent * max_of_row(row, keys);
        const float row_sum = softmax_row(row, keys, group.keys, exponent, row_max);
        if (log_sum_exp != nullptr)
          log_sum_exp[head * shape.positions + group.row + i] = row_max * kLn2 + log_f32(row_sum);
        if (shape.drops) drop_row(shape, head, group.row + i, keys, row);
        for (int64_t key = 0; key < keys; ++key) row[key] *= 1 / row_sum;
      };
      team.parallel_ranges(heads.count * group.rows, to_weights, moving(4 * heads.count * group.rows * group.keys));
      float* const direct = direct_result<Element>(call.out[0], heads, group.row);
      multiply<Implementation>(team, {heads.count, group.rows, shape.width, group.keys},
                               factor(scores, group.rows, group.keys),
                               factor<Element>(call.in[2], heads.of_keys(shape), 0), direct != nullptr ? direct : sums);
      if (direct == nullptr) write_rows<Element>(team, call.out[0], heads, group.row, group.rows, shape, sums);
    });
  });
}

inline int64_t backward_workspace(const Signature& signature) {
  const Division size(signature.in, signature.out);
  return workspace_bytes({size.scores, size.scores, size.sums, size.grad_k, size.grad_v});
}

// (q [B, h, T, d], k, v, values, log_sum_exp [B, h, T, 1], grad_values[, step])
//   -> (grad_q [B, h, T, d], grad_k, grad_v)
template <class Implementation, class Element>
void backward(const KernelCall& call) {
  const AttentionShape shape(call, kBackwardStep);
  const Division size = Division::of(call);
  cpu::Team& team = cpu::team_of(call);
  Workspace workspace(call.workspace);
  float* const weights = workspace.take<float>(size.scores.value());      // [heads, rows, keys]
  float* const grad_scores = workspace.take<float>(size.scores.value());  // [heads, rows, keys]
  float* const sums = workspace.take<float>(size.sums.value());           // [heads, rows, d]
  float* const own_grad_k = workspace.take<float>(size.grad_k.value());   // [heads, T, d]
  float* const own_grad_v = workspace.take<float>(size.grad_v.value());   // [heads, T, d]
  for_heads(shape, size, [&](const Heads& heads) {
    const Heads of_keys = heads.of_keys(shape);
    const bool begins = heads.first % shape.group == 0;  // true for the first query head of its group
    const bool ends = heads.count > 1 || heads.first % shape.group == shape.group - 1;
    float* const direct_k = direct_result<Element>(call.out[1], of_keys, 0);
    float* const direct_v = direct_result<Element>(call.out[2], of_keys, 0);
    float* const grad_k = direct_k != nullptr ? direct_k : own_grad_k;
    float* const grad_v = direct_v != nullptr ? direct_v : own_grad_v;
    for_groups(shape, [&](const Group& group) {
      multiply<Implementation>(team, {heads.count, group.rows, group.keys, shape.width},
                               factor<Element>(call.in[0], heads, group.row),
                               factor<Element>(call.in[1], heads.of_keys(shape), 0).transposed(), weights);
      multiply<Implementation>(team, {heads.count, group.rows, group.keys, shape.width},
                               factor<Element>(call.in[5], heads, group.row),
                               factor<Element>(call.in[2], heads.of_keys(shape), 0).transposed(), grad_scores);
      const auto differentiate = [&](int64_t index) {
        const int64_t head = heads.first + index / group.rows;
        differentiate_row(BackwardHead<Element>(call, shape, head), head, group, index % group.rows,
                          weights + index * group.keys, grad_scores + index * group.keys);
      };
      team.parallel_ranges(heads.count * group.rows, differentiate, moving(4 * heads.count * group.rows * group.keys));
      const bool adds = group.row > 0 || !begins;
      if (!adds) {
        // The first group writes the gradients of its keys; later groups add to them. The gradients of later keys start
        // at zero.
        const int64_t later = shape.positions - group.keys;
        const auto clear_row = [&](int64_t row) {
          std::fill_n(grad_k + (group.keys + row) * shape.width, shape.width, 0.0F);
          std::fill_n(grad_v + (group.keys + row) * shape.width, shape.width, 0.0F);
        };
        team.parallel_ranges(later, clear_row, moving(2 * later * shape.width));
      }
      const ProductSize for_keys{heads.count, group.keys, shape.width, group.rows};
      multiply<Implementation>(team, for_keys, factor(weights, group.rows, group.keys).transposed(),
                               factor<Element>(call.in[5], heads, group.row), grad_v, adds);
      multiply<Implementation>(team, for_keys, factor(grad_scores, group.rows, group.keys).transposed(),
                               factor<Element>(call.in[0], heads, group.row), grad_k, adds);
      float* const direct_q = direct_result<Element>(call.out[0], heads, group.row);
      multiply<Implementation>(
          team, {heads.count, group.rows, shape.width, group.keys}, factor(grad_scores, group.rows, group.keys),
          factor<Element>(call.in[1], heads.of_keys(shape), 0), direct_q != nullptr ? direct_q : sums);
      if (direct_q == nullptr) write_rows<Element>(team, call.out[0], heads, group.row, group.rows, shape, sums);
    });
    if (!ends) return;
    if (direct_k == nullptr) write_rows<Element>(team, call.out[1], of_keys, 0, shape.positions, shape, grad_k);
    if (direct_v == nullptr) write_rows<Element>(team, call.out[2], of_keys, 0, shape.positions, shape, grad_v);
  });
}

}  // namespace laptime::LAPTIME_ISA::attention::products
