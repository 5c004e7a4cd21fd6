// What the program says on standard error beside its progress.
#pragma once

#include <string>
#include <string_view>

namespace laptime {

// A line "laptime: ...", safe for a terminal. Nothing where standard error is closed.
void print_message(const std::string& message);

// Text on standard error as it is. Nothing where standard error is closed.
void print_error_text(std::string_view text);

}  // namespace laptime
