// When a file passes.
#include "record/verification.h"

#include <algorithm>

namespace laptime {

bool VerifiedGroup::pass() const {
  return std::all_of(comparisons.begin(), comparisons.end(),
                     [](const Comparison& comparison) { return comparison.pass; });
}

bool VerifiedFile::pass() const {
  return refused.empty() && !groups.empty() &&
         std::all_of(groups.begin(), groups.end(), [](const VerifiedGroup& group) { return group.pass(); });
}

}  // namespace laptime
