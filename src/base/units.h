// Units as types, and how people read them: 20 MiB, 3.24 s, 743 GFLOP.
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

}  // namespace laptime
