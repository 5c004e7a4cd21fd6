// Initial values of parameters from counter-based streams: any thread can fill any range of a parameter, and the values
// do not depend on how the work is divided.
#pragma once

#include <cstdint>
#include <span>

#include "config/run_config.h"
#include "data/stream.h"
#include "model/parameters.h"

namespace laptime {

// Elements [begin, begin + out.size()) of a stream as normal values with mean 0.
void fill_normal(const Stream& stream, int64_t begin, std::span<float> out, double std);

// Elements [begin, begin + out.size()) of a stream as normal values truncated at 3 std, which lowers their standard
// deviation to 0.98658 std.
void fill_truncated_normal(const Stream& stream, int64_t begin, std::span<float> out, double std);

// Elements [begin, begin + out.size()) of a parameter in row-major order. Each depends only on seed, parameter name and
// index.
void fill_parameter(const ParameterSpec& parameter, WeightInit init, int64_t seed, int64_t begin, std::span<float> out);

}  // namespace laptime
