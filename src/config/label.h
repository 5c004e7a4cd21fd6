// Labels of points by a pattern: "{model}_{pass}_warmup_{warmup}_mixed_{mixed}".
#pragma once

#include <string>
#include <string_view>

#include "config/run_config.h"

namespace laptime {

// Puts the value of an option (by flag or key) in place of each {word}; {mixed} is true where the arithmetic is neither
// float32 nor tf32. Error, starting with `where`, for an unknown word (with the nearest) or a brace without its
// partner.
std::string make_label(std::string_view pattern, const RunConfig& config, std::string_view where);

}  // namespace laptime
