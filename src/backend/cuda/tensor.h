// Tensors as kernels read and write them, in any number type and layout.
#pragma once

#include "backend/cuda/device_code.h"
#include "tensor/dtype.h"

namespace laptime::cuda {

constexpr int kMaxAxes = 6;  // kMaxRank of tensor/shape.h, which device code cannot include

// Elements in device memory.
struct DeviceData {
  std::byte* data = nullptr;  // of the first element; null: absent
  DType dtype = DType::kFloat32;

  template <class T>
  LAPTIME_DEVICE T* at(int64_t position) const {
    return reinterpret_cast<T*>(data) + position;
  }
};

// An element as Value, a type that holds it without rounding unless the element is wider.
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

// Rounds to the type of the element; a bool becomes whether the value is not 0.
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

// The value rounded to `dtype` where that is narrower than float32.
LAPTIME_DEVICE float rounded_to(DType dtype, float value) {
  if (dtype == DType::kBFloat16) return static_cast<float>(BFloat16(value));
  return dtype == DType::kFloat16 ? static_cast<float>(Float16(value)) : value;
}

// Axes that several operands are walked along together; the last one varies fastest.
template <int kOperands>
struct Walk {
  int rank = 0;
  int64_t size[kMaxAxes] = {};
  int64_t stride[kOperands][kMaxAxes] = {};  // in elements of the operand

  struct Positions {
    int64_t of[kOperands];
  };
  // Where element `flat` stands in each operand, in elements from its first one.
  LAPTIME_DEVICE Positions at(int64_t flat) const {
    Positions positions{};
    for (int axis = rank - 1; axis >= 0; --axis) {
      const int64_t rest = axis == 0 ? 0 : flat / size[axis];
      const int64_t index = flat - rest * size[axis];
      for (int k = 0; k < kOperands; ++k) positions.of[k] += index * stride[k][axis];
      flat = rest;
    }
    return positions;
  }
};

// A tensor [..., columns] as rows.
struct DeviceRows : DeviceData {
  Walk<1> walk{};  // of the axes before the last
  int64_t column_stride = 1;

  LAPTIME_DEVICE int64_t row(int64_t index) const { return walk.at(index).of[0]; }
};

// Tensors of one shape, walked together.
template <int kOperands>
struct Elements {
  DeviceData operand[kOperands] = {};
  Walk<kOperands> walk{};
  int64_t count = 0;
};

// body(index) for those of the indices [0, count) that this thread takes: as many apart as the grid has threads.
template <class Body>
LAPTIME_DEVICE void for_indices(const Thread& thread, int64_t count, const Body& body) {
  const int64_t step = thread.blocks() * thread.threads();
  for (int64_t index = thread.block() * thread.threads() + thread.index(); index < count; index += step) body(index);
}

// body(positions) for the elements of this thread.
template <int kOperands, class Body>
LAPTIME_DEVICE void for_elements(const Thread& thread, const Elements<kOperands>& elements, const Body& body) {
  for_indices(thread, elements.count, [&](int64_t flat) { body(elements.walk.at(flat)); });
}

}  // namespace laptime::cuda
