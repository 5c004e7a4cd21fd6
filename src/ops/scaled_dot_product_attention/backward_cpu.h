// Code shared by the backward kernels of attention: operands of a head, visible keys of a row, and the loop over parts
// of the keys. Weights are recomputed from the log-sum-exp, block by block (Dao et al. 2022).
#pragma once

#include "ops/scaled_dot_product_attention/key_parts_cpu.h"
#include "ops/scaled_dot_product_attention/vector_math_cpu.h"

namespace laptime::LAPTIME_ISA::attention {

// The scores of query rows [row, row + rows) and keys [key, key + keys).
struct ScoreBlock {
  int64_t row, rows;
  int64_t key, keys;
};

// The block of keys that a thread will probably process next.
struct NextKeys {
  int64_t kv_head = 0, block = 0;
};

// Operands of one query head: q, k, v, values and all gradients are [T, d], log_sum_exp is [T].
template <class Element>
struct BackwardHead {
  const AttentionShape& shape;
  HeadRows<const Element> q, k, v, values, grad_values;
  HeadRows<const float> log_sum_exp;
  HeadRows<Element> grad_q, grad_k, grad_v;

  BackwardHead(const KernelCall& call, const AttentionShape& call_shape, int64_t head)
      : shape(call_shape),
        q(head_rows<const Element>(call.in[0], head)),
        k(head_rows<const Element>(call.in[1], call_shape.kv_head(head))),
        v(head_rows<const Element>(call.in[2], call_shape.kv_head(head))),
        values(head_rows<const Element>(call.in[3], head)),
        grad_values(head_rows<const Element>(call.in[5], head)),
        log_sum_exp(head_rows<const float>(call.in[4], head)),
        grad_q(head_rows<Element>(call.out[0], head)),
        grad_k(head_rows<Element>(call.out[1], call_shape.kv_head(head))),
        grad_v(head_rows<Element>(call.out[2], call_shape.kv_head(head))) {}

  // The first row that can attend to key `key`.
  int64_t first_row(int64_t key) const { return shape.causal ? key : 0; }
  // The number of keys, counted from the block's first key, that row `i` of the block can attend to. If causal, the
  // number may be negative or exceed block.keys.
  int64_t visible_keys(const ScoreBlock& block, int64_t i) const {
    return shape.causal ? block.row + i + 1 - block.key : block.keys;
  }
  // The number of keys of the block that at least one of the `rows` rows starting at `i` can attend to.
  int64_t keys_of_rows(const ScoreBlock& block, int64_t i, int64_t rows) const {
    return shape.causal ? std::min(block.keys, visible_keys(block, i) + rows - 1) : block.keys;
  }

  // Computes, for each row of the block, grad_values . values and the log-sum-exp scaled by log2(e). Fills both with
  // zeros up to `padded_rows`.
  void load_row_constants(const ScoreBlock& block, int64_t padded_rows, float* grad_dot_values,
                          float* scaled_log_sum_exp) const {
    for (int64_t i = 0; i < block.rows; ++i) {
      grad_dot_values[i] = dot(values[block.row + i], grad_values[block.row + i], shape.width);
      scaled_log_sum_exp[i] = *log_sum_exp[block.row + i] * kLog2E;
    }
    for (int64_t i = block.rows; i < padded_rows; ++i) grad_dot_values[i] = scaled_log_sum_exp[i] = 0;
  }

  // Writes grad_q, the sums [T, pitch] times `scale`, for the rows that attend to no later block of keys.
  void write_finished_rows(const ScoreBlock& block, const float* sums, int64_t pitch, float scale) const {
    const int64_t keys_end = block.key + block.keys;
    if (!shape.causal && keys_end < shape.positions) return;
    const int64_t end =
        std::min(block.row + block.rows, keys_end == shape.positions ? keys_end : block.key + kKeyBlock);
    for (int64_t row = block.row; row < end; ++row) write_row(sums + row * pitch, shape.width, scale, grad_q[row]);
  }
};

// The grad_q sums of a part: the address of the first query head's sums, and the stride between heads in floats.
struct QuerySums {
  float* first = nullptr;  // null if the sums fit in the scratch
  int64_t stride = 0;
};

// Runs Part for all parts of all key heads. A Part has
//   pitch(width), sum_floats(positions, width)   the row pitch and the size of its grad_q sums for one query head
//   sums_fit_scratch(parts, width)               whether these sums fit in the scratch and need no workspace
//   sum_scale(shape)                             the final factor of the sums
//   Part(call, shape, kv_head, sums, only_part, scratch).run(first_block, end_block, next);
// If a head has only one part, that part writes grad_q itself.
template <class Element, template <class> class Part>
void launch_backward(const KernelCall& call) {
  const AttentionShape shape(call, kBackwardStep);
  const KeyParts parts(shape.kv_heads(), shape.group, shape.positions, shape.causal);
  auto* const sums = reinterpret_cast<float*>(call.workspace);
  const int64_t floats = Part<Element>::sum_floats(shape.positions, shape.width);
  const bool in_scratch = Part<Element>::sums_fit_scratch(parts, shape.width);
  const int64_t items = shape.kv_heads() * parts.count;
  cpu::Team& team = cpu::team_of(call);
  const auto run_part = [&](int64_t index, int thread) {
    const int64_t part = index % parts.count;
    const int64_t next = std::min(index + team.size(), items - 1);
    const int64_t kv_head = index / parts.count;
    const QuerySums part_sums =
        in_scratch ? QuerySums{nullptr, floats}
                   : QuerySums{sums + (kv_head * shape.group * parts.count + part) * floats, parts.count * floats};
    Part<Element>(call, shape, kv_head, part_sums, parts.count == 1, team.scratch(thread))
        .run(parts.first_block(part), parts.first_block(part + 1),
             {next / parts.count, parts.first_block(next % parts.count)});
  };
  constexpr int64_t kProducts = 5;
  team.parallel_for(items, run_part, shape.work(kProducts, 1));  // parts have about equal work
  if (parts.count == 1) return;
  sum_parts<Element>(call, shape, parts, sums, floats, Part<Element>::pitch(shape.width),
                     Part<Element>::sum_scale(shape));
}

template <class Element, template <class> class Part>
int64_t backward_workspace(const Signature& signature) {
  const Shape& shape = signature.in[0].shape();  // [B, h, T, d]
  const KeyParts parts(signature);
  if (Part<Element>::sums_fit_scratch(parts, shape[3])) return 0;
  const int64_t floats = Part<Element>::sum_floats(shape[2], shape[3]);
  return (Size(floats) * shape[0] * shape[1] * parts.count * int64_t{sizeof(float)}).value();
}

}  // namespace laptime::LAPTIME_ISA::attention
