// What standard output and standard error are, and what they can show.
#pragma once

#include <cstddef>

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

}  // namespace laptime
