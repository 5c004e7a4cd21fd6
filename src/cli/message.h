// What the program says on standard error beside its progress.
#pragma once

#include <string>

namespace laptime {

// A line "laptime: ...", safe for a terminal. Nothing where standard error is closed.
void print_message(const std::string& message);

}  // namespace laptime
