// Messages on standard error.
#include "cli/message.h"

#include <unistd.h>

#include "cli/destination.h"
#include "report/text.h"

namespace laptime {

void print_message(const std::string& message) {
  const bool is_prefixed = message.starts_with("laptime ") || message.starts_with("laptime:");
  try {
    write_all(STDERR_FILENO, (is_prefixed ? "" : "laptime: ") + printable(message) + "\n", "standard error");
  } catch (const OutputLost&) {
    return;  // there is nobody to tell
  }
}

}  // namespace laptime
