// scan_file: one pass over a file that computes the hash of its bytes and the range of its tokens.
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
  uint64_t hash = 0;  // hash of all bytes and the size: distinguishes files, but does not protect against forgery
  std::optional<TokenRange> tokens{};  // none if there is no layout or no token
};

// Reads the file in pieces. The result is cached for later calls with the same stamp and layout in this process and its
// children, unless the file changed just before or during the scan (InputFile::is_settled). Throws Error if the file
// cannot be read, or has become shorter since it was opened.
FileScan scan_file(const InputFile& file, const std::optional<TokenLayout>& layout = {});

}  // namespace laptime
