// How a program ended: its exit code, and the line of its output that says why.
#pragma once

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace laptime {

// The exit code, or 128 + the number of the signal that ended the program. `status` comes from waitpid().
inline int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

// ": " and the first line that is not just a ruler such as "-----", cut to 300 bytes; empty if there is none.
inline std::string first_line(std::string_view text) {
  const size_t begin = text.find_first_not_of("-= \t\r\n");
  if (begin == std::string_view::npos) return {};
  const size_t line = text.substr(0, begin).rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format(": {}", text.substr(line, std::min<size_t>(text.find('\n', begin) - line, 300)));
}

// The last line that is not empty, without trailing spaces; empty if there is none.
inline std::string last_line(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \r\n") + 1);
  return std::string(text.substr(text.find_last_of("\r\n") + 1));
}

}  // namespace laptime
