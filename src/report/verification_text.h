// What `laptime verify` prints.
#pragma once

#include <string>

#include "record/verification.h"

namespace laptime {

// Every comparison by group, then one line per group, then every failure again; whole lines of ASCII, names from the
// file aside.
std::string print(const VerifiedFile& file);

// "passed  FILE (machine): 412 compared, 3 skipped", then a line for each failure.
std::string summary_line(const VerifiedFile& file);

}  // namespace laptime
