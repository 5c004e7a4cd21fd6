// Resident memory of this process.
#pragma once

#include <cstdint>
#include <optional>

namespace laptime {

std::optional<int64_t> resident_bytes();       // now
std::optional<int64_t> peak_resident_bytes();  // the most so far

}  // namespace laptime
