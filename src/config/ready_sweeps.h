// Built-in sweeps: the files in sweeps/ by name, and the default grids of commands.
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

// Reads the sweep file with this name or, if there is no such file, the built-in sweep. A name with a folder or with
// .toml is always a file. Throws Error like read_sweep_file; for an unknown name, the message starts with `where`
// ("--config") and suggests the nearest name.
Sweep read_sweep(std::string_view where, const std::string& name);

// The grid of `laptime attention`: the attention model for d_model 16 ... 128 and context 256 ... 16384 with 100
// samples each, other options at their defaults. sweeps/attention.toml has the same grid, in both modes.
Sweep attention_sweep();

// The sweep name in records of `laptime calibrate`, regardless of which points ran.
inline constexpr std::string_view kCalibrationSweep = "laptime calibrate";
// The sweep names in records of `laptime compare` and `laptime selfcheck`: many processes of a few steps.
inline constexpr std::string_view kCompareSweep = "laptime compare";
inline constexpr std::string_view kSelfcheckSweep = "laptime selfcheck";

// The grid of `laptime calibrate`: steps of a two-layer model at three widths and two lengths, in each mode, in float32
// and bfloat16. Larger models have the same kinds of launches, with sizes between and beyond those of this grid. The
// weights of one layer fit in the cache of a large server, while the weights of a whole model do not. One width is a
// power of two, because rows of such a length compete for the same cache sets.
Sweep calibration_sweep();

// The step that `laptime selfcheck` compares with itself: about ten milliseconds on one core.
Sweep selfcheck_sweep();

}  // namespace laptime
