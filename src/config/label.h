// Labels of points made from a pattern such as "{model}_{pass}_warmup_{warmup}_mixed_{mixed}".
#pragma once

#include <string>
#include <string_view>

#include "config/run_config.h"

namespace laptime {

// Replaces each {word} by the value of the option with that flag or key; {mixed} is true unless the arithmetic is
// float32 or tf32. An unknown word or an unmatched brace throws Error with a message that starts with `where`.
std::string make_label(std::string_view pattern, const RunConfig& config, std::string_view where);

}  // namespace laptime
