// Where the library transformers stores the parameters of a model of a family: under which name, in which layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/model_config.h"
#include "model/parameters.h"

namespace laptime {

// The part of a stored tensor that a parameter is. Row r of the parameter (an element of a vector) stands at
// row_of(r): q, k and v may share a tensor.
struct LibraryPlace {
  std::string tensor;          // "transformer.h.3.attn.c_attn.weight"
  std::vector<int64_t> shape;  // of the tensor
  bool is_transposed = false;  // the tensor is [in, out]: its rows are columns
  int64_t group = 0, stride = 0, offset = 0;

  int64_t row_of(int64_t row) const { return row / group * stride + offset + row % group; }
};

// None for a model that is of no family of the library.
std::optional<LibraryPlace> library_place(const ModelConfig& model, const ParameterSpec& parameter);

// The names under which a file may have a tensor of the library: gpt2's are often without the first word.
std::vector<std::string> names_in_files(const ModelConfig& model, const std::string& tensor);

// Whether a tensor of a file is no parameter but a buffer that older versions stored, such as a causal mask.
bool is_stored_buffer(std::string_view tensor);

}  // namespace laptime
