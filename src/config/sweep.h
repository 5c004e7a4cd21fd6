// A sweep: for every option a list of values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/output_config.h"

namespace laptime {

struct Axis {
  std::string flag;  // of an option of RunConfig
  std::vector<std::string>
      values;  // as `text_of` writes them, each once; more than one only where the option is an axis
};

struct Sweep {
  std::string name;        // of the file that describes it, "warmup"; empty without one
  std::vector<Axis> axes;  // in the order given: the last one changes fastest
  OutputConfig output;
};

inline constexpr size_t kMaxPoints = 10'000;

// Gives an option of the run or of the output its values, in place of those it had. Error (starting with `where`) for
// an unknown option, a value that it refuses, a value listed twice, a list where none is taken.
void set_option(Sweep& sweep, std::string_view flag, std::string_view where, const std::vector<std::string>& values);

// The words of all options that a sweep may state: of the run and of the output.
std::vector<std::string_view> sweep_flags();

// "128,256" -> {"128", "256"}. Sets are joined by '+' within one value.
std::vector<std::string> split_list(std::string_view text);

}  // namespace laptime
