// Makes a sweep point from options given as text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "points/expand.h"

namespace laptime::test {

using Options = std::vector<std::pair<std::string, std::string>>;

inline SweepPoint point_of(const Options& options) {
  Sweep sweep;
  for (const auto& [flag, value] : options) set_option(sweep, flag, "test", {value});
  return expand(sweep).at(0);
}

// The point for `options`; entries of `more` override them.
inline SweepPoint point_of(Options options, const Options& more) {
  options.insert(options.end(), more.begin(), more.end());
  return point_of(options);
}

}  // namespace laptime::test
