// Tensors that kernels read and write, with any number type and layout.
#pragma once

#include "backend/cuda/device_code.h"
#include "tensor/dtype.h"

namespace laptime::cuda {

constexpr int kMaxAxes = 6;  // kMaxRank of tensor/shape.h, which device code cannot include

// Elements in device memory.
struct DeviceData {
  std::byte* data = nullptr;  // address of the first element; null if absent
  DType dtype = DType::kFloat32;

  template <class T>
  LAPTIME_DEVICE T* at(int64_t position) const {
    return reinterpret_cast<T*>(data) + position;
  }
};

// Loads an element, converted to Value.
template <class Value = float>
LAPTIME_DEVICE Value load(const Thread& thread, const DeviceData& x, int64_t position) {
  switch (x.dtype) {
    case DType::kFloat32: return static_cast<Value>(thread.load(x.at<float>(position)));
    case DType::kFloat64: return static_cast<Value>(thread.load(x.at<double>(position)));
    case DType::kBFloat16: return static_cast<Value>(static_cast<float>(thread.load(x.at<BFloat16>(position))));
    case DType::kFloat16: return static_cast<Value>(static_cast<float>(thread.load(x.at<Float16>(position))));
    case DType::kInt32: return static_cast<Value>(thread.load(x.at<int32_t>(position)));
    case DType::kInt64: return static_cast<Value>(thread.load(x.at<int64_t>(position)));
    case DType::kBool: return static_cast<Value>(thread.load(x.at<uint8_t>(position)));
  }
  return 0;
}

// Stores a value, rounded to the type of the element. For integers, drops the fraction; for a bool, stores whether the
// value is nonzero.
template <class Value>
LAPTIME_DEVICE void store(const Thread& thread, const DeviceData& y, int64_t position, Value value) {
  switch (y.dtype) {
    case DType::kFloat32: return thread.store(y.at<float>(position), static_cast<float>(value));
    case DType::kFloat64: return thread.store(y.at<double>(position), static_cast<double>(value));
    case DType::kBFloat16: return thread.store(y.at<BFloat16>(position), BFloat16(static_cast<float>(value)));
    case DType::kFloat16: return thread.store(y.at<Float16>(position), Float16(static_cast<float>(value)));
    case DType::kInt32: return thread.store(y.at<int32_t>(position), static_cast<int32_t>(value));
    case DType::kInt64: return thread.store(y.at<int64_t>(position), static_cast<int64_t>(value));
    case DType::kBool: return thread.store(y.at<uint8_t>(position), static_cast<uint8_t>(value != 0));
  }
}

// Loads elements of one type. Issues all loads before the first conversion, because waiting for each element in turn
// would leave memory idle.
template <class T, int kCount>
LAPTIME_DEVICE void load_of_type(const Thread& thread, const DeviceData& x, const int64_t (&positions)[kCount],
                                 float (&out)[kCount]) {
  T raw[kCount];
  for (int i = 0; i < kCount; ++i) raw[i] = thread.load(x.at<T>(positions[i]));
  for (int i = 0; i < kCount; ++i) out[i] = static_cast<float>(raw[i]);
}

template <int kCount>
LAPTIME_DEVICE void load_many(const Thread& thread, const DeviceData& x, const int64_t (&positions)[kCount],
                              float (&out)[kCount]) {
  switch (x.dtype) {
    case DType::kFloat32: return load_of_type<float>(thread, x, positions, out);
    case DType::kBFloat16: return load_of_type<BFloat16>(thread, x, positions, out);
    case DType::kFloat16: return load_of_type<Float16>(thread, x, positions, out);
    default:
      LAPTIME_UNROLL
      for (int i = 0; i < kCount; ++i) out[i] = load(thread, x, positions[i]);
  }
}

// How many adjacent elements a thread moves with one or two accesses.
constexpr int kFour = 4;
constexpr int kEight = 8;
template <class T>
struct alignas(kFour * sizeof(T)) Four {
  T of[kFour];
};

// True for types whose elements can be moved four at a time.
constexpr bool moves_fours(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

// Loads elements [position, position + 4) of a type for which moves_fours() is true. The address must be a multiple of
// the size of four elements.
LAPTIME_DEVICE void load_four(const Thread& thread, const DeviceData& x, int64_t position, float (&out)[kFour]) {
  const auto load_as = [&]<class T>(T) {
    const auto four = thread.load(reinterpret_cast<const Four<T>*>(x.at<T>(position)));
    for (int i = 0; i < kFour; ++i) out[i] = static_cast<float>(four.of[i]);
  };
  if (x.dtype == DType::kFloat32) return load_as(float{});
  return x.dtype == DType::kBFloat16 ? load_as(BFloat16{}) : load_as(Float16{});
}
LAPTIME_DEVICE void store_four(const Thread& thread, const DeviceData& y, int64_t position,
                               const float (&values)[kFour]) {
  const auto store_as = [&]<class T>(T) {
    Four<T> four;
    for (int i = 0; i < kFour; ++i) four.of[i] = T(values[i]);
    thread.store(reinterpret_cast<Four<T>*>(y.at<T>(position)), four);
  };
  if (y.dtype == DType::kFloat32) return store_as(float{});
  return y.dtype == DType::kBFloat16 ? store_as(BFloat16{}) : store_as(Float16{});
}

// Rounds `value` to `dtype` if `dtype` is narrower than float32; otherwise returns `value`.
LAPTIME_DEVICE float rounded_to(DType dtype, float value) {
  if (dtype == DType::kBFloat16) return static_cast<float>(BFloat16(value));
  return dtype == DType::kFloat16 ? static_cast<float>(Float16(value)) : value;
}

// a / b for nonnegative numbers. Divides in 32 bits if possible, because a 64-bit division takes several times as long.
LAPTIME_DEVICE int64_t quotient(int64_t a, int64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
  return a / b;
}

// The axes over which several operands are iterated together; the last one varies fastest.
template <int kOperands>
struct Walk {
  int rank = 0;
  int64_t size[kMaxAxes] = {};
  int64_t stride[kOperands][kMaxAxes] = {};  // in elements of the operand

  struct Positions {
    int64_t of[kOperands];
  };
  // Offset of element `flat` in each operand, in elements.
  LAPTIME_DEVICE Positions at(int64_t flat) const {
    Positions positions{};
    for (int axis = rank - 1; axis >= 0; --axis) {
      const int64_t rest = axis == 0 ? 0 : quotient(flat, size[axis]);
      const int64_t index = flat - rest * size[axis];
      for (int k = 0; k < kOperands; ++k) positions.of[k] += index * stride[k][axis];
      flat = rest;
    }
    return positions;
  }
};

// A tensor [..., columns] as a list of rows.
struct DeviceRows : DeviceData {
  Walk<1> walk{};  // over the axes before the last
  int64_t column_stride = 1;

  LAPTIME_DEVICE int64_t row(int64_t index) const { return walk.at(index).of[0]; }
};

// Calls body(column, count) for the columns of a row that this thread of the block takes. If `in_fours`, columns are
// taken four at a time, and the remaining ones one by one; otherwise all columns are taken one by one.
template <class Body>
LAPTIME_DEVICE void for_columns(const Thread& thread, int64_t columns, bool in_fours, const Body& body) {
  const int64_t fours = in_fours ? columns / kFour : 0;
  for (int64_t index = thread.index(); index < fours; index += thread.threads()) body(index * kFour, kFour);
  for (int64_t column = fours * kFour + thread.index(); column < columns; column += thread.threads()) body(column, 1);
}

// Loads `count` columns, starting at `column`, of the row at `position`. for_columns() provides `column` and `count`.
LAPTIME_DEVICE void load_columns(const Thread& thread, const DeviceData& x, int64_t position, int64_t column_stride,
                                 int64_t column, int count, float (&out)[kFour]) {
  if (count == kFour) return load_four(thread, x, position + column, out);
  out[0] = load(thread, x, position + column * column_stride);
}
LAPTIME_DEVICE void store_columns(const Thread& thread, const DeviceData& y, int64_t position, int count,
                                  const float (&values)[kFour]) {
  if (count == kFour) return store_four(thread, y, position, values);
  store(thread, y, position, values[0]);
}

// How a thread accesses the elements of several operands: one by one or in groups. Groups require that element i is at
// position i of every operand. Each access moves one group: 16 bytes, or 8 bytes for the 16-bit types in kFours.
// Adjacent threads thus access adjacent memory, whatever the types.
enum class Groups : uint8_t {
  kNone,              // one by one, or by map_walked_fours()
  kFoursOfFloat32,    // all operands are float32
  kEightsOfBFloat16,  // all operands are bfloat16
  kEights,            // all operands have 16 bits
  kFours,             // all operands have types for which moves_fours() is true
};
// The number of elements in a group; 1 if elements are accessed one by one.
constexpr int64_t group_size(Groups groups) {
  if (groups == Groups::kNone) return 1;
  return groups == Groups::kFoursOfFloat32 || groups == Groups::kFours ? kFour : kEight;
}

// Tensors of the same shape, over which a kernel iterates together.
template <int kOperands>
struct Elements {
  DeviceData operand[kOperands] = {};
  Walk<kOperands> walk{};
  int64_t count = 0;
  Groups groups = Groups::kNone;
};

// Calls body(index) for the indices in [0, count) that this thread takes: every n-th index, where n is the number of
// threads in the grid.
template <class Body>
LAPTIME_DEVICE void for_indices(const Thread& thread, int64_t count, const Body& body) {
  const int64_t step = thread.blocks() * thread.threads();
  for (int64_t index = thread.block() * thread.threads() + thread.index(); index < count; index += step) body(index);
}

// Calls body(positions) for the elements of this thread.
template <int kOperands, class Body>
LAPTIME_DEVICE void for_elements(const Thread& thread, const Elements<kOperands>& elements, const Body& body) {
  for_indices(thread, elements.count, [&](int64_t flat) { body(elements.walk.at(flat)); });
}

}  // namespace laptime::cuda
