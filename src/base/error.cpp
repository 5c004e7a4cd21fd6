// The message of an out-of-memory error, and the abort for a violated invariant.
#include "base/error.h"

#include <cstdio>
#include <cstdlib>

#include "base/units.h"

namespace laptime {

OutOfMemory::OutOfMemory(int64_t bytes_requested, std::optional<int64_t> bytes_available)
    : Error(fmt::format("out of memory: {} requested, {}; use a smaller model, batch or context",
                        format_bytes(bytes_requested),
                        bytes_available ? format_bytes(*bytes_available) + " available" : "more than is available")),
      bytes_requested_(bytes_requested),
      bytes_available_(bytes_available) {}

OutOfMemory::OutOfMemory(int64_t bytes_requested, std::optional<int64_t> bytes_available, const std::string& message)
    : Error(message), bytes_requested_(bytes_requested), bytes_available_(bytes_available) {}

void abort_with(const char* file, int line, const char* condition, const std::string& values) {
  fmt::print(stderr,
             "laptime: internal check failed at {}:{}: {} ({})\nThis is a bug in laptime, not in your input: please "
             "report it.\n",
             file, line, condition, values);
  std::fflush(stderr);
  std::abort();
}

}  // namespace laptime
