// Reads CSV (RFC 4180) line by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace laptime {

// The cells of the line at the front of `text`, which is taken off. Cells in quotes may hold commas, line ends and
// doubled quotes.
std::vector<std::string> take_csv_line(std::string_view& text);

}  // namespace laptime
