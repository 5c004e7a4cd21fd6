// The sweep that `laptime attention` runs by default.
#pragma once

#include "config/sweep.h"

namespace laptime {

// The attention model for d_model 16 ... 128 and context 256 ... 16384 with 100 samples each, other options at their
// defaults. It is the same grid as sweeps/attention.toml.
Sweep attention_sweep();

}  // namespace laptime
