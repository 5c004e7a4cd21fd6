// What the kernels of attention share: where the rows of a head stand, dropout of weights, and what they refuse.
#pragma once

#include <algorithm>
#include <cmath>

#include "backend/cpu/team.h"
#include "backend/cpu/vector/vector_math.h"
#include "backend/cpu/vector/vectors.h"
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"

namespace laptime::LAPTIME_ISA {

constexpr size_t kForwardStep = 3;  // inputs that hold the step
constexpr size_t kBackwardStep = 6;

constexpr float kLog2E = 1.44269504F;
constexpr float kLn2 = 0.693147181F;

constexpr int64_t rounded_up(int64_t size, int64_t multiple) { return (size + multiple - 1) / multiple * multiple; }

// The rows of one head of an operand; the elements of a row stand without gaps.
template <class Element>
struct HeadRows {
  Element* data = nullptr;
  int64_t stride = 0;
  Element* operator[](int64_t row) const { return data + row * stride; }
};

// Sizes and options of one call.
struct AttentionShape {
  int64_t heads = 0;  // in all batches
  int64_t positions = 0, width = 0;
  bool causal = true;
  bool drops = false;
  uint64_t dropout_key = 0;
  uint32_t least_kept = 0;
  float kept_scale = 1;

  AttentionShape(const KernelCall& call, size_t step_input)
      : heads(call.in[0].shape()[0] * call.in[0].shape()[1]),
        positions(call.in[0].shape()[2]),
        width(call.in[0].shape()[3]) {
    const auto& attributes = call.attributes.as<AttentionAttributes>();
    causal = attributes.causal;
    drops = attributes.dropout_p > 0;
    if (!drops) return;
    dropout_key = laptime::dropout_key(attributes.dropout(), *call.in[step_input].as<const int64_t>());
    least_kept = laptime::least_kept(attributes.dropout_p);
    kept_scale = static_cast<float>(laptime::kept_scale(attributes.dropout_p));
  }

  float scale() const { return static_cast<float>(1 / std::sqrt(static_cast<double>(width))); }
  // What dropout multiplies the weight of a key by.
  float kept(int64_t head, int64_t row, int64_t key) const {
    const auto element = static_cast<uint64_t>((head * positions + row) * positions + key);
    return static_cast<uint32_t>(splitmix64(dropout_key + element) >> 40U) >= least_kept ? kept_scale : 0.0F;
  }
  // The same for keys [first, first + size).
  void kept(int64_t head, int64_t row, int64_t first, int64_t size, float* factors) const {
    const uint64_t start = dropout_key + static_cast<uint64_t>((head * positions + row) * positions + first);
    const uint32_t least = least_kept;
    const float kept_value = kept_scale;
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) {
      const auto top = static_cast<uint32_t>(splitmix64(start + static_cast<uint64_t>(i)) >> 40U);
      factors[i] = top >= least ? kept_value : 0.0F;
    }
  }
};

// The rows of head `head`, all batches counted through.
template <class Element>
HeadRows<Element> head_rows(const TensorView& view, int64_t head) {
  const int64_t heads = view.shape()[1];
  Element* const data = view.as<Element>();
  return {data + head / heads * view.strides()[0] + head % heads * view.strides()[1], view.strides()[2]};
}

// Rows that will be wanted soon, fetched into the L2 cache a few cache lines at a time between products: all at once
// they would stop the loads.
class Ahead {
 public:
  // Rows [begin, end) after those already expected.
  template <class Element>
  void expect(const HeadRows<Element>& rows, int64_t begin, int64_t end, int64_t width) {
    constexpr auto kSize = static_cast<int64_t>(sizeof(Element));
    if (begin >= end || last_ - first_ == kRanges) return;
    ranges_[last_++ % kRanges] = {reinterpret_cast<const char*>(rows[begin]), rows.stride * kSize, width * kSize,
                                  end - begin};
  }

  // The next two cache lines.
  [[gnu::always_inline]] void fetch() {
    if (first_ == last_) return;
    Range& range = ranges_[first_ % kRanges];
    const char* const line = range.row + range.done;
    __builtin_prefetch(line, 0, 2);
    __builtin_prefetch(line + 64, 0, 2);
    range.done += 128;
    if (range.done < range.bytes) return;
    range.done = 0;
    range.row += range.stride;
    if (--range.rows == 0) ++first_;
  }

 private:
  static constexpr size_t kRanges = 16;
  struct Range {
    const char* row;
    int64_t stride, bytes, rows;
    int64_t done = 0;  // bytes of the row
  };
  std::array<Range, kRanges> ranges_;
  size_t first_ = 0, last_ = 0;
};

// `size` elements times `scale`, rounded to the element's type.
template <class Element>
void write_row(const float* from, int64_t size, float scale, Element* to) {
  for (int64_t i = 0; i < size; ++i) to[i] = narrowed<Element>(from[i] * scale);
}

// What neither kernel can read: `in` and `out` are of one type, `statistics` among the inputs float32.
inline std::string attention_refusal(const Signature& signature, int statistics) {
  const DType dtype = signature.in[0].dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kBFloat16)
    return std::string("operands are ") + std::string(name_of(dtype)) + ", not float32 or bfloat16";
  const auto refusal = [&](const TensorType& type) -> std::string {
    if (type.shape().rank() != 4) return "";  // the step
    if (type.dtype != dtype) return "operands of several types";
    return type.shape().back() > 1 && type.layout.strides.back() != 1 ? "the last axis has gaps" : "";
  };
  for (size_t i = 0; i < signature.in.size(); ++i) {
    if (static_cast<int>(i) == statistics) {
      if (signature.in[i].dtype != DType::kFloat32) return "log_sum_exp is not float32";
    } else if (std::string reason = refusal(signature.in[i]); !reason.empty()) {
      return reason;
    }
  }
  for (const TensorType& type : signature.out) {
    if (type.shape().back() != 1 && type.layout.strides.back() != 1) return "the last axis has gaps";
  }
  if (signature.in.back().shape().empty() && signature.in.back().dtype != DType::kInt64) return "step is not int64";
  return "";
}

}  // namespace laptime::LAPTIME_ISA
