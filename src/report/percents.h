// Shares as percentages that people read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace laptime {

// A fraction in percent, with two digits at least: "62 %", "2.0 %", "0.031 %".
std::string percent_text(double fraction);

// What each part has of their sum in whole percent. They add up to 100: those with the largest remainders are rounded
// up. All are 0 where the sum is.
std::vector<int64_t> whole_percents(const std::vector<int64_t>& parts);

}  // namespace laptime
