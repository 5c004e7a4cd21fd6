// Standard output and standard error: what they can show, and messages on the latter.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/record_table.h"

namespace laptime {

struct OutputStream {
  int descriptor = 0;
  bool is_terminal = false;  // one that understands control codes
  bool unicode = false;      // by the locale of the environment
  size_t width = 0;          // columns of the terminal, or else by COLUMNS; 0: no limit
};

OutputStream standard_output();
OutputStream standard_error();

// Columns for help: those of standard output, and 80 where they are not known; no more than are easily read.
size_t help_width();

TableStyle table_style(const OutputStream& stream, bool verbose = false);

// A line "laptime: ...", safe for a terminal. Nothing where standard error is closed.
void print_message(const std::string& message);

// Text on standard error as it is. Nothing where standard error is closed.
void print_error_text(std::string_view text);

}  // namespace laptime
