// Recognises files that do not contain tokens, and reads numbers from their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "data/input_file.h"

namespace laptime {

// The bytes [begin, begin + size) of a file; fewer at its end.
std::vector<std::byte> bytes_at(const InputFile& file, int64_t begin, int64_t size);

// The number at offset `at`; 0 if it extends past the end of the bytes.
template <class T>
T number_at(std::span<const std::byte> bytes, size_t at) {
  T value{};
  if (at + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

struct FileKind {
  std::string name;    // "a gzip archive"; empty if unknown
  std::string remedy;  // "unpack it first"
};

// Recognises kinds of files by signature, such as archives, tables, checkpoints, pickles, and llm.c files without
// tokens.
FileKind kind_by_signature(const InputFile& file);

// Recognises JSON that describes a model, and UTF-16 text, neither of which is training data.
FileKind kind_of_text(std::span<const std::byte> begin);

// Recognises weights without a header: floating-point numbers of one type, roughly as many negative as positive.
FileKind kind_by_values(std::span<const std::byte> sample);

// True if the bytes are text: they contain no control bytes except white space and escape.
bool is_text(std::span<const std::byte> bytes);

}  // namespace laptime
