// Starting values of parameters: normal and truncated normal from counter-based streams, so that any range of any
// parameter can be filled by any thread with the same result.
#pragma once

#include <cstdint>
#include <span>

#include "config/run_config.h"
#include "data/stream.h"
#include "model/parameters.h"

namespace laptime {

// Elements [begin, begin + out.size()): normal with mean 0.
void fill_normal(const Stream& stream, int64_t begin, std::span<float> out, double std);

// The same, cut at 3 std (so that the standard deviation of the values is 0.98658 std).
void fill_truncated_normal(const Stream& stream, int64_t begin, std::span<float> out, double std);

// Elements [begin, begin + out.size()) of a parameter in row-major order, from (seed, parameter name, index) alone:
// the edition's initialisation, or the golden streams.
void fill_parameter(const ParameterSpec& parameter, WeightInit init, int64_t seed, int64_t begin, std::span<float> out);

}  // namespace laptime
