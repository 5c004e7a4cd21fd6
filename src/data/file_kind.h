// Recognises files that hold no tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/input_file.h"

namespace laptime {

// The bytes [begin, begin + size) of a file, fewer at its end.
std::vector<std::byte> bytes_at(const InputFile& file, int64_t begin, int64_t size);

struct FileKind {
  std::string name;    // "a gzip archive"; empty for a file of no known kind
  std::string remedy;  // "unpack it"
};

// Kinds that begin with bytes of their own: archives, tables, checkpoints, pickles, llm.c's files without tokens.
FileKind kind_by_signature(const InputFile& file);

// The JSON and the text in another encoding than UTF-8 that no model is trained on.
FileKind kind_of_text(std::span<const std::byte> begin);

// Weights without a header: floating-point numbers of one type, about as many below zero as above.
FileKind kind_by_values(std::span<const std::byte> sample);

// Whether the bytes are those of a text: no control bytes but white space.
bool is_text(std::span<const std::byte> bytes);

}  // namespace laptime
