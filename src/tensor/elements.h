// elements_of: copies the elements of a tensor into a vector of doubles.
#pragma once

#include <vector>

#include "tensor/tensor_view.h"

namespace laptime {

// All elements in row-major order of the shape, for any type and layout.
inline std::vector<double> elements_of(const TensorView& view) {
  std::vector<double> elements(static_cast<size_t>(view.numel()));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = view.at(static_cast<int64_t>(i));
  return elements;
}

}  // namespace laptime
