// Reads and writes single elements of any dtype.
#include "tensor/tensor_view.h"

#include <cmath>
#include <cstring>

namespace laptime {
namespace {

template <class T>
T read(const std::byte* data, int64_t position) {
  T value;
  std::memcpy(&value, data + position * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void write(std::byte* data, int64_t position, T value) {
  std::memcpy(data + position * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

}  // namespace

double TensorView::load(int64_t position) const {
  switch (type.dtype) {
    case DType::kFloat32: return read<float>(data, position);
    case DType::kFloat64: return read<double>(data, position);
    case DType::kBFloat16: return static_cast<float>(read<BFloat16>(data, position));
    case DType::kFloat16: return static_cast<float>(read<Float16>(data, position));
    case DType::kInt32: return read<int32_t>(data, position);
    case DType::kInt64: return static_cast<double>(read<int64_t>(data, position));
    case DType::kBool: return read<uint8_t>(data, position);
  }
  return 0;
}

void TensorView::store(int64_t position, double value) const {
  switch (type.dtype) {
    case DType::kFloat32: return write(data, position, static_cast<float>(value));
    case DType::kFloat64: return write(data, position, value);
    case DType::kBFloat16: return write(data, position, BFloat16(static_cast<float>(value)));
    case DType::kFloat16: return write(data, position, Float16(static_cast<float>(value)));
    case DType::kInt32: return write(data, position, static_cast<int32_t>(value));
    case DType::kInt64: return write(data, position, static_cast<int64_t>(value));
    case DType::kBool: return write(data, position, static_cast<uint8_t>(value != 0));
  }
}

int64_t TensorView::position(int64_t flat) const {
  int64_t at = type.layout.offset;
  for (int axis = shape().rank() - 1; axis >= 0; --axis) {
    const int64_t size = shape()[axis];
    if (flat < size) return at + flat * strides()[axis];  // avoids the division, which takes most of the time
    at += flat % size * strides()[axis];
    flat /= size;
  }
  return at;
}

}  // namespace laptime
