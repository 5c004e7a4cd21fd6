// The sweep of `laptime attention`: what it runs where nothing else is asked for.
#pragma once

#include "config/sweep.h"

namespace laptime {

// Attention alone, d_model 16 ... 128 x context 256 ... 16384, 100 samples, the rest as the model has it: the grid of
// sweeps/attention.toml.
Sweep attention_sweep();

}  // namespace laptime
