// Reads what the terminal can show (TERM, locale, window size), and prints messages.
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "cli/destination.h"
#include "table/text.h"

namespace laptime {

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// As the C library reads it: the first of these that is set.
bool locale_is_utf8() {
  std::string locale;
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (locale.empty()) locale = variable(name);
  }
  std::transform(locale.begin(), locale.end(), locale.begin(), [](unsigned char c) { return std::tolower(c); });
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

// COLUMNS; 0 where it is not set.
size_t width_by_environment() {
  constexpr size_t kMost = 10'000;
  return std::min<size_t>(std::strtoul(variable("COLUMNS").c_str(), nullptr, 10), kMost);
}

OutputStream stream_of(int descriptor) {
  OutputStream stream{descriptor, isatty(descriptor) == 1, locale_is_utf8(), 0};
  winsize size{};
  if (stream.is_terminal && ioctl(descriptor, TIOCGWINSZ, &size) == 0) stream.width = size.ws_col;
  const std::string kind = variable("TERM");
  if (kind.empty() || kind == "dumb") stream.is_terminal = false;
  if (stream.width == 0) stream.width = width_by_environment();
  return stream;
}

}  // namespace

OutputStream standard_output() { return stream_of(STDOUT_FILENO); }
OutputStream standard_error() { return stream_of(STDERR_FILENO); }

size_t help_width() {
  constexpr size_t kUnknown = 80;
  constexpr size_t kLeast = 40;
  constexpr size_t kMost = 120;
  const size_t width = standard_output().width;
  return width == 0 ? kUnknown : std::clamp(width, kLeast, kMost);
}

TableStyle table_style(const OutputStream& stream, bool verbose) {
  return {.unicode = stream.unicode, .width = stream.width, .verbose = verbose};
}

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
