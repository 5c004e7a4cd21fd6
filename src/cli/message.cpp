// Messages on standard error.
#include "cli/message.h"

#include <unistd.h>

#include <algorithm>

#include "cli/destination.h"
#include "cli/terminal.h"
#include "table/text.h"

namespace laptime {

void print_error_text(std::string_view text) {
  try {
    write_all(STDERR_FILENO, text, "standard error");
  } catch (const OutputLost&) {
    return;  // nobody reads it
  }
}

void print_message(const std::string& message) {
  const bool is_prefixed = message.starts_with("laptime ") || message.starts_with("laptime:");
  std::string text = is_prefixed ? "" : "laptime: ";
  const size_t width = standard_error().width;
  std::string lines;
  for (size_t begin = 0; begin <= message.size();) {
    const size_t end = std::min(message.find('\n', begin), message.size());
    text += (begin == 0 ? "" : "  ") + printable(std::string_view(message).substr(begin, end - begin));
    lines += broken_at_spaces(text, width, begin == 0 ? 2 : 0) + "\n";
    text.clear();
    begin = end + 1;
  }
  print_error_text(lines);
}

}  // namespace laptime
