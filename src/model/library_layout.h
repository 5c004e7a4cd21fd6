// Names and layouts of parameters as the Hugging Face library transformers stores them, for each model family.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/model_config.h"
#include "model/parameters.h"

namespace laptime {

// The part of a stored tensor that contains a parameter. Row r of the parameter (for a vector, element r) is at
// row_of(r), because q, k and v may share a tensor.
struct LibraryPlace {
  std::string tensor;          // "transformer.h.3.attn.c_attn.weight"
  std::vector<int64_t> shape;  // shape of the stored tensor
  bool is_transposed = false;  // the tensor is [in, out], so a row of the parameter is a column of the tensor
  int64_t group = 0, stride = 0, offset = 0;

  int64_t row_of(int64_t row) const { return row / group * stride + offset + row % group; }
};

// None for the editions 2024, 2025 and 2026, which the library does not define.
std::optional<LibraryPlace> library_place(const ModelConfig& model, const ParameterSpec& parameter);

// The possible names of a library tensor in a file: in files of gpt2, the leading "transformer." is often missing.
std::vector<std::string> names_in_files(const ModelConfig& model, const std::string& tensor);

// True if a tensor in a file is not a parameter but a buffer that older versions stored, such as a causal mask.
bool is_stored_buffer(std::string_view tensor);

}  // namespace laptime
