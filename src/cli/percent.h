// Percentages as people give them.
#pragma once

#include <string>
#include <string_view>

namespace laptime {

// "2%", "2 %" and "2" are 0.02. Error for anything else and above 100 %; its message starts with `where`.
double parse_percent(std::string_view where, std::string_view text);

// Returns the text unchanged; Error unless parse_percent accepts it.
std::string canonical_percent(std::string_view where, std::string_view text);

}  // namespace laptime
