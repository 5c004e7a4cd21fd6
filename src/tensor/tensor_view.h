// TensorView: typed, strided access to bytes that another object owns.
#pragma once

#include <cstddef>

#include "tensor/layout.h"

namespace laptime {

// `data` points to the first byte of the storage; the layout's offset has not been added.
struct TensorView {
  std::byte* data = nullptr;
  TensorType type;

  const Shape& shape() const { return type.layout.shape; }
  const Dims& strides() const { return type.layout.strides; }
  int64_t numel() const { return type.numel(); }

  // The first element. T must be the element type of dtype.
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data) + type.layout.offset;
  }

  // Reads the element at a storage position (in elements) as double; integers up to 2^53 are exact.
  double load(int64_t position) const;
  void store(int64_t position, double value) const;

  // The storage position (in elements) of the element with row-major index `flat`.
  int64_t position(int64_t flat) const;

  // Reads or writes the element at a row-major index, for any layout. Slow; for references and tests.
  double at(int64_t flat) const { return load(position(flat)); }
  void put(int64_t flat, double value) const { store(position(flat), value); }

  // A view of the same bytes, broadcast to `shape`.
  TensorView broadcast_to(const Shape& shape) const { return {data, {type.dtype, expanded(type.layout, shape)}}; }
};

}  // namespace laptime
