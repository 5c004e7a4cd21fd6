// The output of `laptime verify`.
#pragma once

#include <string>

#include "record/verification.h"

namespace laptime {

// Every comparison by group, then one line per group, then every failure again. Complete lines in ASCII, except for
// names from the file.
std::string print(const VerifiedFile& file);

// "passed  FILE (machine): 412 compared, 3 skipped", followed by one line per failure.
std::string summary_line(const VerifiedFile& file);

}  // namespace laptime
