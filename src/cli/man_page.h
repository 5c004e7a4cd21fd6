// The manual page, made from the tables of commands and options.
#pragma once

#include <string>

namespace laptime {

// Source for roff with the macros of man(7).
std::string man_page();

}  // namespace laptime
