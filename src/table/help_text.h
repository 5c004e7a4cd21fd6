// Layout of help: words beside their meaning, command lines as a shell continues them, and roff of a manual page.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace laptime {

// Words, then their meaning from `column` on; on a line of its own where the words are too long.
std::string beside(const std::string& words, std::string_view meaning, size_t column, size_t width);

// Command lines, each broken before an option and continued with a backslash.
std::string command_lines(std::string_view lines, size_t width);

// Text as roff prints it: signs that roff would interpret are escaped, and hyphens are emitted as ASCII `-`.
std::string roff(std::string_view text);
std::string roff_bold(std::string_view text);
// The first word is to be typed as it is; the rest stands for something else.
std::string roff_term(std::string_view words);

}  // namespace laptime
