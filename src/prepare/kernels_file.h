// A file of kernel choices: the records of earlier runs, read for the kernels that they name.
#pragma once

#include <cstdint>
#include <string>

#include "prepare/kernel_choice.h"

namespace laptime {

inline constexpr int64_t kMaxKernelsFile = int64_t{64} << 20U;  // bytes

// How messages name the file: "kernels file 'choices.json'".
std::string kernels_file_text(const std::string& path);

// The choices in records as `laptime bench` and `laptime show` write them: an array (--output json), one per line
// (jsonl), or a single one. Of a record only `kernels` is read; all else may be missing. Error, naming the file, where
// it cannot be read, has no such records, states no choice, or states two for one signature.
KernelsBySignature read_kernels_file(const std::string& path);

}  // namespace laptime
