// Comparison: one of our values compared with a value in a golden file.
#pragma once

#include <string>

namespace laptime {

struct Comparison {
  std::string what;     // "loss of step 3", "grad/ln_final.weight"
  double distance = 0;  // usually relative; NaN never passes
  double allowed = 0;
  bool pass = false;
  bool skipped = false;  // the rule does not apply, for the reason in `note`
  std::string note;      // actual and expected value, if the distance does not show them
};

}  // namespace laptime
