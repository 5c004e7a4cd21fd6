// content_hash: identifies a file by what it holds.
#pragma once

#include <cstdint>

#include "data/input_file.h"

namespace laptime {

// 64 bits of all bytes of the file and of their number: for telling files apart, not against forgery. Reads the file
// in pieces. Error if it cannot be read, or has become shorter since it was opened.
uint64_t content_hash(const InputFile& file);

}  // namespace laptime
