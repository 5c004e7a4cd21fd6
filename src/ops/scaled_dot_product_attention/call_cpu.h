// Code shared by the CPU kernels of attention: the sizes and the dropout of a call, rows of a head, groups of rows, the
// outputs of forward, and the reasons to refuse operands.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "backend/cpu/team.h"
#include "backend/cpu/vector/vector_math.h"
#include "backend/cpu/vector/vectors.h"
#include "base/checked.h"
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"

namespace laptime::LAPTIME_ISA::attention {

// Position of the step among the inputs, if there is dropout.
constexpr size_t kForwardStep = 3;
constexpr size_t kBackwardStep = 6;

// Scores are scaled by log2(e), so that softmax can use exp2.
constexpr float kLog2E = 1.44269504F;
constexpr float kLn2 = 0.693147181F;

// The rows [T, d] of one head of an operand; the elements of a row are contiguous.
template <class Element>
struct HeadRows {
  Element* data = nullptr;
  int64_t stride = 0;
  Element* operator[](int64_t row) const { return data + row * stride; }
  HeadRows from(int64_t row) const { return {data + row * stride, stride}; }
};

// Head `head` of an operand [B, h, T, d]; 0 <= head < B h.
template <class Element>
HeadRows<Element> head_rows(const TensorView& view, int64_t head) {
  const int64_t heads = view.shape()[1];
  Element* const data = view.as<Element>();
  return {data + head / heads * view.strides()[0] + head % heads * view.strides()[1], view.strides()[2]};
}

// The sizes and options of one call.
struct AttentionShape {
  int64_t heads = 0;      // B h, the number of query heads in all batches
  int64_t group = 1;      // h / g, the number of query heads that share a head of keys and values
  int64_t positions = 0;  // T
  int64_t width = 0;      // d
  bool causal = true;
  bool drops = false;
  uint64_t dropout_key = 0;
  uint32_t dropout_threshold = 0;
  float dropout_scale = 1;

  AttentionShape(const KernelCall& call, size_t step_input)
      : heads(call.in[0].shape()[0] * call.in[0].shape()[1]),
        group(call.in[0].shape()[1] / call.in[1].shape()[1]),
        positions(call.in[0].shape()[2]),
        width(call.in[0].shape()[3]) {
    const auto& attributes = call.attributes.as<AttentionAttributes>();
    causal = attributes.causal;
    drops = attributes.dropout_p > 0;
    if (!drops) return;
    dropout_key = attributes.dropout().counter().key(*call.in[step_input].as<const int64_t>());
    dropout_threshold = laptime::dropout_threshold(attributes.dropout_p);
    dropout_scale = static_cast<float>(laptime::dropout_scale(attributes.dropout_p));
  }

  // Heads of keys and values are also counted over all batches.
  int64_t kv_heads() const { return heads / group; }
  int64_t kv_head(int64_t head) const { return head / group; }

  // The work of `products` matrix products over all heads, each with 2 d FLOPs per visible score, if the rows of a head
  // are divided into `groups` groups.
  LoopWork work(int64_t products, int64_t groups) const {
    const double scores = static_cast<double>(heads) * static_cast<double>(positions) *
                          static_cast<double>(causal ? ceil_div(positions + 1, 2) : positions);
    // The rows of the last of g groups attend to (2 g - 1) / g times as many keys as an average row.
    const double largest = causal ? static_cast<double>(2 * groups - 1) / static_cast<double>(groups) : 1;
    return {2.0 * static_cast<double>(products) * scores * static_cast<double>(width), largest};
  }

  float scale() const { return static_cast<float>(1 / std::sqrt(static_cast<double>(width))); }

  // Writes the dropout factors, 0 or dropout_scale, for the weights of keys [first, first + size) to `factors`.
  void dropout_factors(int64_t head, int64_t row, int64_t first, int64_t size, float* factors) const {
    const uint64_t start = dropout_key + static_cast<uint64_t>((head * positions + row) * positions + first);
    const uint32_t threshold = dropout_threshold;
    const float scale_of_kept = dropout_scale;
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) {
      const auto top = static_cast<uint32_t>(splitmix64(start + static_cast<uint64_t>(i)) >> 40U);
      factors[i] = top >= threshold ? scale_of_kept : 0.0F;
    }
  }
};

// The query rows of one head that a thread processes together.
struct RowGroup {
  int64_t head = 0, first_row = 0;
};
// Returns group number `index` among the groups of all heads. If causal, groups with many keys come first, so that a
// long group does not run last.
inline RowGroup row_group(int64_t index, const AttentionShape& shape, int64_t group_rows) {
  const int64_t groups = ceil_div(shape.positions, group_rows);
  return {index % shape.heads, (groups - 1 - index / shape.heads) * group_rows};
}

// Multiplies `size` elements by `scale` and rounds them to the element type.
template <class Element>
void write_row(const float* from, int64_t size, float scale, Element* to) {
  for (int64_t i = 0; i < size; ++i) to[i] = narrowed<Element>(from[i] * scale);
}

// The outputs of the forward op for one head, row by row.
template <class Element>
class ForwardOutput {
 public:
  ForwardOutput(const KernelCall& call, const AttentionShape& shape, int64_t head)
      : width_(shape.width),
        values_(head_rows<Element>(call.out[0], head)),
        log_sum_exp_(call.out[1].data == nullptr ? nullptr : call.out[1].as<float>() + head * shape.positions) {}

  // Writes a row, given the sums [d] of weights times values. The weights are 2^(score - row_max), and row_sum is their
  // sum.
  void put(int64_t row, const float* sums, float row_max, float row_sum) const {
    write_row(sums, width_, 1 / row_sum, values_[row]);
    if (log_sum_exp_ != nullptr) log_sum_exp_[row] = row_max * kLn2 + log_f32(row_sum);
  }

 private:
  int64_t width_;
  HeadRows<Element> values_;
  float* log_sum_exp_;  // null if no node reads it
};

// Returns why no kernel supports these operands, or an empty string. All operands [B, h, T, d] must have the same type
// (float32, bfloat16 or float16) and contiguous rows.
inline std::string attention_refusal(const Signature& signature) {
  constexpr size_t kLogSumExpInput = 4;
  const bool backward = signature.op == &kScaledDotProductAttentionBackward;
  const DType dtype = signature.in[0].dtype;
  if (dtype != DType::kFloat32 && !is_16_bit_float(dtype))
    return std::string("operands are ") + std::string(name_of(dtype)) + ", not float32, bfloat16 or float16";
  for (size_t i = 0; i < signature.in.size(); ++i) {
    const TensorType& type = signature.in[i];
    if (backward && i == kLogSumExpInput) {
      if (type.dtype != DType::kFloat32) return "log_sum_exp is not float32";
    } else if (type.shape().rank() == 4) {
      if (type.dtype != dtype) return "operands have different types";
      if (type.shape().back() > 1 && type.layout.strides.back() != 1) return "the last axis is not contiguous";
    } else if (type.dtype != DType::kInt64) {
      return "step is not int64";
    }
  }
  for (const TensorType& type : signature.out) {
    if (type.shape().back() != 1 && type.layout.strides.back() != 1) return "the last axis is not contiguous";
  }
  return "";
}

}  // namespace laptime::LAPTIME_ISA::attention
