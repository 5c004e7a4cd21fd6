// Divides nests into strips, iterates over them, converts their elements, and runs functions on them.
#include "backend/cpu/vector/strips.h"

#include <cstring>

#include "backend/cpu/vector/vectors.h"
#include "base/checked.h"

namespace laptime::LAPTIME_ISA {
namespace {

// If rows are shorter than this, a repeated element is expanded, because loops over single rows would be too short.
constexpr int64_t kMinRepeatedColumns = 64;

// Rows of a tensor that are copied to or from a contiguous buffer, with position and strides in elements.
struct StridedRows {
  int64_t position = 0;
  int64_t count = 1, row_stride = 0;
  int64_t columns = 0, column_stride = 1;
};

template <class Element, class Value>
void load_rows(const std::byte* data, const StridedRows& rows, Value* to) {
  const Element* from = reinterpret_cast<const Element*>(data) + rows.position;
  for (int64_t row = 0; row < rows.count; ++row, from += rows.row_stride, to += rows.columns) {
    if (rows.column_stride == 1) {
      if constexpr (std::is_same_v<Element, Float16>) {  // the compiler does not vectorise this conversion
        widen_row(from, rows.columns, to);
        continue;
      }
#pragma omp simd
      for (int64_t i = 0; i < rows.columns; ++i) to[i] = Value(widened(from[i]));
    } else if (rows.column_stride == 0) {
      const Value value = Value(widened(from[0]));
#pragma omp simd
      for (int64_t i = 0; i < rows.columns; ++i) to[i] = value;
    } else if (rows.column_stride == 2) {
#pragma omp simd
      for (int64_t i = 0; i < rows.columns; ++i) to[i] = Value(widened(from[2 * i]));
    } else {
      for (int64_t i = 0; i < rows.columns; ++i) to[i] = Value(widened(from[i * rows.column_stride]));
    }
  }
}

template <class Element, class Value>
void store_rows(const Value* from, std::byte* data, const StridedRows& rows) {
  Element* to = reinterpret_cast<Element*>(data) + rows.position;
  for (int64_t row = 0; row < rows.count; ++row, to += rows.row_stride, from += rows.columns) {
    if (rows.column_stride == 1) {
      if constexpr (std::is_same_v<Element, Float16>) {
        narrow_row(from, rows.columns, to);
        continue;
      }
#pragma omp simd
      for (int64_t i = 0; i < rows.columns; ++i) to[i] = narrowed<Element>(from[i]);
    } else {
      for (int64_t i = 0; i < rows.columns; ++i) to[i * rows.column_stride] = narrowed<Element>(from[i]);
    }
  }
}

void load_rows(const TensorView& from, const StridedRows& rows, float* to) {
  switch (from.type.dtype) {
    case DType::kFloat32: return load_rows<float>(from.data, rows, to);
    case DType::kBFloat16: return load_rows<BFloat16>(from.data, rows, to);
    case DType::kFloat16: return load_rows<Float16>(from.data, rows, to);
    case DType::kBool: return load_rows<uint8_t>(from.data, rows, to);
    default: return;  // refused by strips_refusal
  }
}

void store_rows(const float* from, const TensorView& to, const StridedRows& rows) {
  switch (to.type.dtype) {
    case DType::kFloat32: return store_rows<float>(from, to.data, rows);
    case DType::kBFloat16: return store_rows<BFloat16>(from, to.data, rows);
    case DType::kFloat16: return store_rows<Float16>(from, to.data, rows);
    default: return;  // refused by strips_refusal
  }
}

// One operand of run_strips. A thread processes it strip by strip.
class StripOperand {
 public:
  void prepare(const TensorView& view, const LoopNest& nest, int operand, bool repeated) {
    view_ = &view;
    operand_ = operand;
    is_bytes_ = view.type.dtype == DType::kBool;
    element_ = size_of(view.type.dtype);
    column_stride_ = nest.column_stride(operand);
    row_stride_ = nest.row_stride(operand);
    repeated_ = repeated;
    constant_ = -1;
  }

  // Returns the address of the strip's elements in the tensor; null if they must be converted or gathered into the
  // buffer, or if this is an absent output.
  std::byte* in_place(const StripWalk& walk) const {
    const bool native = is_bytes_ || view_->type.dtype == DType::kFloat32;
    const bool dense = column_stride_ == 1 && (walk.rows() == 1 || row_stride_ == walk.columns());
    if (!native || !dense || view_->data == nullptr) return nullptr;
    return view_->data + walk.position(operand_) * element_;
  }
  std::byte* buffer() { return buffer_.data(); }

  void fill(const StripWalk& walk) {
    // A scalar is expanded once and stays in the buffer.
    const bool is_constant = column_stride_ == 0 && row_stride_ == 0;
    StridedRows rows = rows_of(walk);
    if (repeated_) {
      rows.columns = 1;
    } else if (is_constant) {
      if (constant_ == rows.position) return;
      constant_ = rows.position;
      rows.count = 1;
      rows.columns = kStripSize;
    }
    if (is_bytes_) {
      load_rows<uint8_t>(view_->data, rows, reinterpret_cast<uint8_t*>(buffer()));
    } else {
      load_rows(*view_, rows, reinterpret_cast<float*>(buffer()));
    }
  }

  void flush(const StripWalk& walk) {
    if (view_->data == nullptr) return;
    if (is_bytes_) {
      store_rows<uint8_t>(reinterpret_cast<const uint8_t*>(buffer()), view_->data, rows_of(walk));
    } else {
      store_rows(reinterpret_cast<const float*>(buffer()), *view_, rows_of(walk));
    }
  }

 private:
  StridedRows rows_of(const StripWalk& walk) const {
    return {walk.position(operand_), walk.rows(), row_stride_, walk.columns(), column_stride_};
  }

  const TensorView* view_ = nullptr;
  int operand_ = 0;
  bool is_bytes_ = false;
  int64_t element_ = 0;
  int64_t column_stride_ = 0, row_stride_ = 0;
  bool repeated_ = false;  // true if the buffer has only one element for each row
  int64_t constant_ = -1;  // the position of the scalar that fills the buffer; -1 if there is none
  alignas(64) std::array<std::byte, kStripSize * sizeof(float)> buffer_;
};

}  // namespace

StripCut cut_strips(const LoopNest& nest) {
  StripCut cut;
  const bool by_rows = nest.rank > 1 && nest.columns() <= kStripSize / 2;
  cut.cut_axis = by_rows ? nest.rank - 2 : nest.rank - 1;
  const int64_t size = nest.size[static_cast<size_t>(cut.cut_axis)];
  const int64_t unit = by_rows ? (nest.columns() > 0 ? nest.columns() : 1) : 1;
  // Makes strips nearly equal in length. The innermost axis is cut at multiples of 64 elements, which are whole cache
  // lines of every type.
  const int64_t most = kStripSize / unit;
  cut.per_axis = ceil_div(size, most);
  cut.length = cut.per_axis == 0 ? most : ceil_div(size, cut.per_axis);
  if (!by_rows) cut.length = ceil_div(cut.length, 64) * 64;
  cut.count = cut.per_axis;
  for (int axis = 0; axis < cut.cut_axis; ++axis) cut.count *= nest.size[static_cast<size_t>(axis)];
  const int64_t elements = (cut.length < size ? cut.length : size) * unit;
  cut.per_block = elements > 0 && elements < kBlockSize ? kBlockSize / elements : 1;
  return cut;
}

StripWalk::StripWalk(const LoopNest& nest, const StripCut& cut, int64_t first)
    : nest_(nest), cut_(cut), by_rows_(cut.cut_axis != nest.rank - 1), position_(nest.offset) {
  const int64_t piece = first % cut.per_axis;
  int64_t outer = first / cut.per_axis;
  const auto cut_axis = static_cast<size_t>(cut.cut_axis);
  index_[cut_axis] = piece * cut.length;
  left_ = nest.size[cut_axis] - index_[cut_axis];
  for (size_t axis = cut_axis; axis-- > 0;) {
    index_[axis] = outer % nest.size[axis];
    outer /= nest.size[axis];
  }
  for (size_t k = 0; k < static_cast<size_t>(nest.operands); ++k) {
    for (size_t axis = 0; axis <= cut_axis; ++axis) position_[k] += index_[axis] * nest.stride[k][axis];
  }
}

void StripWalk::next() {
  auto axis = static_cast<size_t>(cut_.cut_axis);
  const auto operands = static_cast<size_t>(nest_.operands);
  if (left_ > cut_.length) {
    left_ -= cut_.length;
    for (size_t k = 0; k < operands; ++k) position_[k] += cut_.length * nest_.stride[k][axis];
    return;
  }
  // Returns to the start of the cut axis and advances the axes outside it.
  const int64_t walked = nest_.size[axis] - left_;
  for (size_t k = 0; k < operands; ++k) position_[k] -= walked * nest_.stride[k][axis];
  left_ = nest_.size[axis];
  while (axis-- > 0) {
    if (++index_[axis] < nest_.size[axis]) {
      for (size_t k = 0; k < operands; ++k) position_[k] += nest_.stride[k][axis];
      return;
    }
    index_[axis] = 0;
    for (size_t k = 0; k < operands; ++k) position_[k] -= (nest_.size[axis] - 1) * nest_.stride[k][axis];
  }
}

void load_elements(const TensorView& from, int64_t position, int64_t stride, int64_t size, float* to) {
  load_rows(from, {position, 1, 0, size, stride}, to);
}

void store_elements(const float* from, int64_t size, const TensorView& to, int64_t position, int64_t stride) {
  store_rows(from, to, {position, 1, 0, size, stride});
}

Rows::Rows(std::initializer_list<const TensorView*> tensors) {
  std::array<Layout, kMaxOperands> leading;
  std::array<const Layout*, kMaxOperands> layouts{};
  size_t count = 0;
  for (const TensorView* tensor : tensors) {
    leading[count] = tensor->type.layout;
    leading[count].shape.erase(leading[count].rank() - 1);
    leading[count].strides.erase(leading[count].strides.rank() - 1);
    layouts[count] = &leading[count];
    ++count;
  }
  nest_ = row_major_nest(leading[0].shape, {layouts.data(), count});
  count_ = leading[0].shape.product();
}

int64_t Rows::strided_position(size_t tensor, int64_t row) const {
  int64_t at = nest_.offset[tensor];
  for (auto axis = static_cast<size_t>(nest_.rank); axis-- > 0;) {
    at += row % nest_.size[axis] * nest_.stride[tensor][axis];
    row /= nest_.size[axis];
  }
  return at;
}

void run_strips(cpu::Team& team, std::span<const TensorView> out, std::span<const TensorView> in,
                const StripProgram& program) {
  std::array<const TensorView*, kMaxOperands> views{};
  std::array<const Layout*, kMaxOperands> layouts{};
  size_t count = 0;
  for (const TensorView& view : out) views[count++] = &view;
  for (const TensorView& view : in) views[count++] = &view;
  for (size_t k = 0; k < count; ++k) layouts[k] = &views[k]->type.layout;
  const LoopNest nest = memory_order_nest(out[0].shape(), {layouts.data(), count});
  const StripCut cut = cut_strips(nest);
  int repeated = -1;
  if (program.takes_repeated && nest.columns() >= kMinRepeatedColumns) {
    for (size_t k = out.size(); k < count; ++k) {
      if (nest.column_stride(static_cast<int>(k)) == 0) repeated = static_cast<int>(k);
    }
  }

  team.parallel_blocks(cut.count, cut.per_block, [&](int64_t begin, int64_t end) {
    std::array<StripOperand, kMaxOperands> operands;
    for (size_t k = 0; k < count; ++k) {
      operands[k].prepare(*views[k], nest, static_cast<int>(k), static_cast<int>(k) == repeated);
    }
    StripWalk walk(nest, cut, begin);
    for (int64_t index = begin; index < end; ++index, walk.next()) {
      Strip strip{walk.rows() * walk.columns(), walk.columns(), program.parameters, repeated, {}};
      for (size_t k = 0; k < count; ++k) {
        strip.operands[k] = operands[k].in_place(walk);
        if (strip.operands[k] != nullptr) continue;
        strip.operands[k] = operands[k].buffer();
        if (k >= out.size()) operands[k].fill(walk);
      }
      program.function(strip);
      for (size_t k = 0; k < out.size(); ++k) {
        if (strip.operands[k] == operands[k].buffer()) operands[k].flush(walk);
      }
    }
  });
}

std::string strips_refusal(std::span<const TensorType> out, std::span<const TensorType> in) {
  const auto refusal = [](const TensorType& type) -> std::string {
    switch (type.dtype) {
      case DType::kFloat32:
      case DType::kBFloat16:
      case DType::kFloat16:
      case DType::kBool: return "";
      default: return "an operand is " + std::string(name_of(type.dtype)) + ", but this kernel computes in float32";
    }
  };
  for (const TensorType& type : out) {
    if (std::string reason = refusal(type); !reason.empty()) return reason;
  }
  for (const TensorType& type : in) {
    if (std::string reason = refusal(type); !reason.empty()) return reason;
  }
  return "";
}

}  // namespace laptime::LAPTIME_ISA
