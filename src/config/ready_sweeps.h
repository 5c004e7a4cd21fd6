// The sweeps that come with the program (sweeps/*.toml), by name.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/sweep.h"

namespace laptime {

struct ReadySweep {
  std::string_view name;   // "end_to_end"
  std::string_view about;  // one sentence: the first comment line of its file
  std::string_view text;   // TOML
};
std::span<const ReadySweep> ready_sweeps();

// The sweep of a file, or the one of this name that comes with the program where there is no such file. A name with a
// folder or with .toml is always a file. Error as read_sweep_file, and for an unknown name one that starts with `where`
// ("--config") and has the nearest name.
Sweep read_sweep(std::string_view where, const std::string& name);

}  // namespace laptime
