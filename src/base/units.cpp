// Numbers with a unit, scaled for people.
#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace laptime {
namespace {

// Three to four significant digits.
std::string significant(double value) {
  const double size = std::fabs(value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  if (size >= 100) return fmt::format("{:.1f}", value);
  if (size >= 10) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

template <size_t N>
std::string scaled(double value, double base, const std::array<const char*, N>& names) {
  size_t index = 0;
  while (std::fabs(value) >= base && index + 1 < N) {
    value /= base;
    ++index;
  }
  return index == 0 ? fmt::format("{:.0f} {}", value, names[0])
                    : fmt::format("{} {}", significant(value), names[index]);
}

}  // namespace

std::string format_bytes(int64_t bytes) {
  return scaled(static_cast<double>(bytes), 1024, std::array{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"});
}

std::string format_seconds(double seconds) {
  const double size = std::fabs(seconds);
  if (size >= 1 || size == 0) return fmt::format("{} s", significant(seconds));
  if (size >= 1e-3) return fmt::format("{} ms", significant(seconds * 1e3));
  if (size >= 1e-6) return fmt::format("{} us", significant(seconds * 1e6));
  return fmt::format("{} ns", significant(seconds * 1e9));
}

std::string format_count(double value) {
  if (std::fabs(value) < 1000) return fmt::format("{:g}", value);
  return scaled(value, 1000, std::array{"", "k", "M", "G", "T", "P", "E"});
}

std::string format_flops(double flops) {
  return scaled(flops, 1000, std::array{"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"});
}

}  // namespace laptime
