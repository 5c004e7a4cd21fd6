// The names of the points of a sweep, "step/model:small/mode:eager", without what all of them have.
#pragma once

#include <string>
#include <vector>

namespace laptime {

// The words of the first name that every other one has too, "model:small/mode:eager"; empty for a single name.
std::string common_words(const std::vector<std::string>& names);

// The name without these words; the whole name if nothing would be left.
std::string without_words(const std::string& name, const std::string& left_out);

}  // namespace laptime
