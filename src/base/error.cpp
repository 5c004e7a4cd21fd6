// The end of a run whose own invariant does not hold.
#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace laptime {

void abort_with(const char* file, int line, const char* condition, const std::string& values) {
  fmt::print(stderr, "laptime: internal check failed at {}:{}: {} ({})\nThis is a defect of laptime, not of your input: please report it.\n", file,
             line, condition, values);
  std::fflush(stderr);
  std::abort();
}

}  // namespace laptime
