// Formats numbers with scaled units for people.
#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace laptime {
namespace {

// The number of decimals that leaves three to four significant digits.
int decimals_of(double value) {
  const double size = std::fabs(value);
  return size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
}

constexpr const char* kUnknown = "-";

std::string with_unit(double value, const char* unit) {
  return fmt::format("{:.{}f} {}", value, decimals_of(value), unit);
}

template <size_t N>
std::string scaled(double value, double base, const std::array<const char*, N>& names) {
  size_t index = 0;
  while (std::fabs(value) >= base && index + 1 < N) {
    value /= base;
    ++index;
  }
  return index == 0 ? fmt::format("{:.0f} {}", value, names[0]) : with_unit(value, names[index]);
}

}  // namespace

std::string format_bytes(int64_t bytes) {
  using Limits = std::numeric_limits<int64_t>;  // the largest and smallest values mean unknown
  if (bytes == Limits::max() || bytes == Limits::min()) return kUnknown;
  return scaled(static_cast<double>(bytes), 1024, std::array{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"});
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return kUnknown;
  const double size = std::fabs(seconds);
  if (size >= 1 || size == 0) return with_unit(seconds, "s");
  if (size >= 1e-3) return with_unit(seconds * 1e3, "ms");
  if (size >= 1e-6) return with_unit(seconds * 1e6, "us");
  return with_unit(seconds * 1e9, "ns");
}

std::string percent_beyond(double fraction, double limit) {
  if (!std::isfinite(fraction)) return kUnknown;
  constexpr int kMostDecimals = 4;
  for (int decimals = 1;; ++decimals) {
    std::string text = fmt::format("{:.{}f} %", 100 * std::fabs(fraction), decimals);
    if (decimals == kMostDecimals || text != fmt::format("{:.{}f} %", 100 * std::fabs(limit), decimals)) return text;
  }
}

std::string format_flops(double flops) {
  if (!std::isfinite(flops)) return kUnknown;
  return scaled(flops, 1000, std::array{"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"});
}

}  // namespace laptime
