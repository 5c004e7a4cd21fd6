// Messages on standard error.
#include "cli/message.h"

#include <unistd.h>

#include "cli/destination.h"
#include "report/text.h"

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
  print_error_text((is_prefixed ? "" : "laptime: ") + printable(message) + "\n");
}

}  // namespace laptime
