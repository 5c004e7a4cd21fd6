// Layout of help: options next to their meaning, command lines with shell continuations, and roff for a manual page.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace laptime {

// The words, then their meaning starting at `column`, or on a new line if the words are too long.
std::string beside(const std::string& words, std::string_view meaning, size_t column, size_t width);

// Command lines, broken before options and continued with a backslash.
std::string command_lines(std::string_view lines, size_t width);

// Escapes text so that roff prints it unchanged. Hyphens print as ASCII `-`.
std::string roff(std::string_view text);
std::string roff_bold(std::string_view text);
// A term of a manual page, as roff: the first word is literal, the rest a placeholder.
std::string roff_term(std::string_view words);

}  // namespace laptime
