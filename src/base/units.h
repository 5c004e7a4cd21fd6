// Units as types, and their readable forms: 20 MiB, 3.24 s, 743 GFLOP.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace laptime {

using Seconds = std::chrono::duration<double>;

std::string format_bytes(int64_t bytes);     // "1.92 GiB"
std::string format_seconds(double seconds);  // "3.241 s", "812.4 ms", "9.10 us", "120 ns"
std::string format_count(double value);      // "128.6 M", "3.24 G"
std::string format_flops(double flops);      // "743.1 GFLOP"

// A fraction that exceeds its limit, in percent without a sign, with one decimal or as many as distinguish it from the
// limit: "3.4 %"; "1.04 %" for a limit of 1 %.
std::string percent_beyond(double fraction, double limit);

}  // namespace laptime
