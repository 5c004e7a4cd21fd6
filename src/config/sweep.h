// Sweep: lists of option values, whose Cartesian product is a set of points.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ranges.h"
#include "config/output_config.h"

namespace laptime {

struct Axis {
  std::string flag;  // flag of an option of RunConfig
  // Distinct values as `text_of` writes them; more than one only if the option may be an axis.
  std::vector<std::string> values;
};

struct Sweep {
  std::string name;        // stem of the sweep file ("warmup"); empty without a file
  std::string file;        // path of the sweep file; empty without one
  std::vector<Axis> axes;  // in the order given; the last one varies fastest
  OutputConfig output;
};

// The axis of an option; null if the sweep does not set it.
inline const Axis* find_axis(const Sweep& sweep, std::string_view flag) {
  return find_in(sweep.axes, flag, &Axis::flag);
}

inline constexpr size_t kMaxPoints = 10'000;

// Replaces the values of an option of the run or of the output; `name` may be any spelling that meant_flag() knows.
// Throws Error with a message that starts with `where` for an unknown option, an invalid or repeated value, no value,
// more than kMaxPoints values, or several values for an option that takes one.
void set_option(Sweep& sweep, std::string_view name, std::string_view where, const std::vector<std::string>& values);

// The flags of all options that a sweep may set: the options of RunConfig and OutputConfig.
std::vector<std::string_view> sweep_flags();

// "128,256" -> {"128", "256"}.
std::vector<std::string> split_list(std::string_view text);

}  // namespace laptime
