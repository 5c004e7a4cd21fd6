// Reads kernel choices from a file with records of earlier runs.
#pragma once

#include <cstdint>
#include <string>

#include "prepare/kernel_choice.h"

namespace laptime {

inline constexpr int64_t kMaxKernelsFile = int64_t{64} << 20U;  // bytes

// The name of the file for messages: "kernels file 'choices.json'".
std::string kernels_file_text(const std::string& path);

// Reads the field `kernels` of records written by `laptime bench` or `laptime show`: an array (--output json), one
// record per line (jsonl), or a single record. Error with the name of the file if it cannot be read, holds no such
// records or no choice, or has conflicting choices for a signature.
KernelsBySignature read_kernels_file(const std::string& path);

}  // namespace laptime
