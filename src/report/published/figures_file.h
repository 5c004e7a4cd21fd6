// The text of published/figures.csv, which cmake/embedded_files.cmake compiles into the program.
#pragma once

#include <string_view>

namespace laptime {

std::string_view published_figures_file();

}  // namespace laptime
