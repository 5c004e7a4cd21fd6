// scan_file: one pass over a file, for its identity and the range of the tokens in it.
#pragma once

#include <cstdint>
#include <optional>

#include "data/input_file.h"
#include "data/token_layout.h"

namespace laptime {

struct TokenRange {
  int64_t smallest = 0, largest = 0;
  int64_t zeros = 0;
};

struct FileScan {
  uint64_t hash = 0;                   // of all bytes and their number: tells files apart, no protection from forgery
  std::optional<TokenRange> tokens{};  // none without a layout, and for a file without tokens
};

// Reads the file in pieces, and only once per process as long as the file keeps its stamp; child processes inherit what
// their parent has read. Error if the file cannot be read, or has become shorter since it was opened.
FileScan scan_file(const InputFile& file, const std::optional<TokenLayout>& layout = {});

}  // namespace laptime
