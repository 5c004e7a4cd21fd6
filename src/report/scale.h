// Scale: the multiple of a unit in which people read a value, so that values side by side can share one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/key.h"

namespace laptime {

struct Scale {
  double factor = 1;  // how many of the unit one of `name` is
  std::string_view name;
};

// "ms" for 0.0123 s; none for a unit without multiples.
std::optional<Scale> scale_of(double value, Unit unit);

// The number alone, with as many decimals as `like` needs for four significant digits.
std::string format_in(const Scale& scale, double value, double like);

}  // namespace laptime
