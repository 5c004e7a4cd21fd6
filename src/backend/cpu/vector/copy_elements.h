// Copies and fills elements of any type; only the size of an element matters.
#pragma once

#include "backend/cpu/vector/strips.h"

namespace laptime::LAPTIME_ISA {

// Copies all elements. Both tensors have the same shape and type, and do not overlap.
void copy_elements(cpu::Team& team, const TensorView& from, const TensorView& to);

// Sets every element to `value`, rounded to the tensor's type.
void fill_elements(cpu::Team& team, const TensorView& to, double value);

// Returns the address of `size` elements that start at `position`, `stride` elements apart. If they are not contiguous,
// copies them to `buffer` first. Word is the unsigned integer type that has the size of an element.
template <class Word>
const Word* raw_elements(const TensorView& from, int64_t position, int64_t stride, int64_t size, Word* buffer) {
  const Word* data = reinterpret_cast<const Word*>(from.data) + position;
  if (stride == 1) return data;
  if (stride == 2) {
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) buffer[i] = data[2 * i];
  } else {
    for (int64_t i = 0; i < size; ++i) buffer[i] = data[i * stride];
  }
  return buffer;
}

}  // namespace laptime::LAPTIME_ISA
