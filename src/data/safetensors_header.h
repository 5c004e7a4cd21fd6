// The header of a safetensors file: its tensors with their types, shapes and byte ranges.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.h"

namespace laptime {

// Size of the number that states the length of the header.
constexpr uint64_t kLengthBytes = 8;

// Number types that can be read; the format's other types (8-bit floats, I8, U16 to U64) are rejected by name.
enum class StoredType : uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kU8, kBool };

int64_t size_of(StoredType type);           // bytes of one element
std::string_view name_of(StoredType type);  // as written in the format: "BF16"

struct StoredTensor {
  std::string name;
  StoredType type = StoredType::kF32;
  Shape shape;
  int64_t begin = 0;  // first byte in the file
  int64_t bytes = 0;

  int64_t numel() const { return shape.product(); }
};

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;            // in the order of their bytes in the file
  std::map<std::string, std::string> metadata;  // the contents of the entry `__metadata__`
};

// Parses the JSON at bytes [8, 8 + text.size()) of a file of `file_size` bytes. Throws Error unless every entry is
// complete and known, names are unique, shapes agree with byte counts, and the tensors fill the rest of the file
// without gap or overlap. `file` is the file's name in messages.
SafetensorsHeader parse_safetensors_header(std::string_view text, int64_t file_size, const std::string& file);

}  // namespace laptime
