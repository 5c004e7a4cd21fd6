// Comparison: one value of ours held against one of a golden file.
#pragma once

#include <string>

namespace laptime {

struct Comparison {
  std::string what;     // "loss of step 3", "grad/ln_final.weight"
  double distance = 0;  // relative; NaN never passes
  double allowed = 0;
  bool pass = false;
  bool skipped = false;  // the rule does not apply; `note` says why
  std::string note;      // what was got and what was expected, where a distance does not say it
};

}  // namespace laptime
