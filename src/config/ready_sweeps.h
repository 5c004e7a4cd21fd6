// The sweeps that come with the program: files of sweeps/ by name, and the default grids of commands.
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

// The grid of `laptime attention`: the attention model for d_model 16 ... 128 and context 256 ... 16384 with 100
// samples each, other options at their defaults. It is the grid of sweeps/attention.toml.
Sweep attention_sweep();

// The sweep that records of `laptime calibrate` name, whichever points were run.
inline constexpr std::string_view kCalibrationSweep = "laptime calibrate";

// The grid of `laptime calibrate`: steps of two layers at three widths and two lengths, in each mode and number type.
// The launches of larger models are of the same kinds and of sizes between and beyond these. The weights of one layer
// can stay in the cache of a large server, those of a whole model cannot. One width is a power of two, because rows of
// such a length compete for the same cache sets.
Sweep calibration_sweep();

// The step that `laptime selfcheck` measures against itself: some ten milliseconds on one core.
Sweep selfcheck_sweep();

}  // namespace laptime
