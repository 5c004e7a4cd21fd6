// Reads sweeps from TOML files, in which each flag is a key with a value or an array of values.
#pragma once

#include <filesystem>
#include <string_view>

#include "config/sweep.h"

namespace laptime {

inline constexpr size_t kMaxSweepFileBytes = 16'384;

// Parses a sweep with its axes in the order of the file. Throws Error with `name` and the line for malformed TOML, an
// unknown key, a wrong type, an invalid value or more than kMaxSweepFileBytes.
Sweep parse_sweep(std::string_view text, std::string_view name);

// Reads a sweep file like parse_sweep, and sets `name` and `file` of the sweep; also throws Error if the file cannot be
// read.
Sweep read_sweep_file(const std::filesystem::path& path);

}  // namespace laptime
