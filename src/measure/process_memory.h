// Resident memory of this process.
#pragma once

#include <cstdint>
#include <optional>

namespace laptime {

std::optional<int64_t> resident_bytes();       // current
std::optional<int64_t> peak_resident_bytes();  // maximum so far

}  // namespace laptime
