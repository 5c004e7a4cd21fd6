// Sweeps written as TOML: the words of the command line as keys, a value or an array of values each.
#pragma once

#include <filesystem>
#include <string_view>

#include "config/sweep.h"

namespace laptime {

inline constexpr size_t kMaxSweepFile = 16'384;  // bytes

// Axes in the order of the file. Error with file and line: no TOML, unknown key (with the nearest), wrong type, a value
// that its option refuses. `name` stands for the file in messages.
Sweep parse_sweep(std::string_view text, std::string_view name);

// The same from a file; Error also where it cannot be read or is larger than kMaxSweepFile.
Sweep read_sweep_file(const std::filesystem::path& path);

}  // namespace laptime
