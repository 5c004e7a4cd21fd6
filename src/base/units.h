// Seconds as a type, and readable forms of numbers with units: 20.00 MiB, 3.240 s, 743.1 GFLOP.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace laptime {

using Seconds = std::chrono::duration<double>;

// All return "-" for an unknown value: a number that is not finite, or the largest or smallest int64_t.
std::string format_bytes(int64_t bytes);     // "1.920 GiB", "64 B"
std::string format_seconds(double seconds);  // "3.241 s", "812.4 ms", "9.100 us", "120.0 ns"
std::string format_flops(double flops);      // "743.1 GFLOP"

// Formats a fraction that exceeds `limit`. Returns an unsigned percentage with the fewest decimals, from 1 to 4, that
// distinguish it from the limit: "3.4 %"; "1.04 %" for a limit of 1 %.
std::string percent_beyond(double fraction, double limit);

}  // namespace laptime
