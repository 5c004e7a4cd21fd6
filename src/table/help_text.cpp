// Wraps and escapes help text.
#include "table/help_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/proc_text.h"
#include "table/text.h"

namespace laptime {

std::string beside(const std::string& words, std::string_view meaning, size_t column, size_t width) {
  const std::string text = broken_at_spaces(std::string(column, ' ') + std::string(meaning), width);
  if (words.size() < column) return words + text.substr(words.size()) + "\n";
  return fmt::format("{}\n{}\n", broken_at_spaces(words, width, 2), text);
}

std::string command_lines(std::string_view lines, size_t width) {
  constexpr std::string_view kMore = " \\";
  constexpr size_t kHanging = 4;
  std::string text;
  for (std::string_view line : split(lines, '\n')) {
    const size_t indent = std::min(line.find_first_not_of(' '), line.size()) + kHanging;
    size_t used = 0;
    while (used + line.size() > width) {
      const size_t room = width > used + kMore.size() ? width - used - kMore.size() : 0;
      size_t cut = line.rfind(" --", room);
      if (cut == std::string_view::npos || cut < indent) cut = line.find(" --", indent);
      if (cut == std::string_view::npos) break;
      text += fmt::format("{}{}\n{:{}}", line.substr(0, cut), kMore, "", indent);
      line.remove_prefix(cut + 1);
      used = indent;
    }
    text += fmt::format("{}\n", line);
  }
  return text;
}

std::string roff(std::string_view text) {
  std::string escaped;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    begins_line = c == '\n';
    if (c == '\\' || c == '-') escaped += '\\';
    escaped += c == '\\' ? 'e' : c;
  }
  return escaped;
}

std::string roff_bold(std::string_view text) { return fmt::format("\\fB{}\\fR", roff(text)); }

std::string roff_term(std::string_view words) {
  const std::string_view first = words.substr(0, words.find(' '));
  const std::string_view rest = words.substr(std::min(first.size() + 1, words.size()));
  return rest.empty() ? roff_bold(first) : fmt::format("{} \\fI{}\\fR", roff_bold(first), roff(rest));
}

}  // namespace laptime
