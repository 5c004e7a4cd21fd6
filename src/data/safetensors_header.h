// The header of a safetensors file: which tensors it holds, of which type and shape, at which bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.h"

namespace laptime {

// Bytes of the number in which a file states the length of its header.
constexpr uint64_t kLengthBytes = 8;

// Number types that are read; others of the format (8-bit floats, unsigned integers) are refused by name.
enum class StoredType : uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kU8, kBool };

int64_t size_of(StoredType type);           // bytes of one element
std::string_view name_of(StoredType type);  // as the format writes it: "BF16"

struct StoredTensor {
  std::string name;
  StoredType type = StoredType::kF32;
  Shape shape;
  int64_t begin = 0;  // first byte in the file
  int64_t bytes = 0;

  int64_t numel() const { return shape.product(); }
};

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;            // in the order of their bytes
  std::map<std::string, std::string> metadata;  // the entry `__metadata__`
};

// Reads the JSON that stands at bytes [8, 8 + text.size()) of a file of `file_size` bytes. Error unless every entry is
// complete and known, names are unique, shapes agree with byte counts, and the tensors fill the rest of the file in
// order without gap or overlap. `file` names the file in messages.
SafetensorsHeader parse_safetensors_header(std::string_view text, int64_t file_size, const std::string& file);

}  // namespace laptime
