// Tables of multiples.
#include "report/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace laptime {
namespace {

constexpr std::array kTimeScales{Scale{1e-9, "ns"}, Scale{1e-6, "us"}, Scale{1e-3, "ms"}, Scale{1, "s"}};
constexpr std::array kByteScales{Scale{1, "B"},        Scale{0x1p10, "KiB"}, Scale{0x1p20, "MiB"},
                                 Scale{0x1p30, "GiB"}, Scale{0x1p40, "TiB"}, Scale{0x1p50, "PiB"}};
constexpr std::array kFlopScales{Scale{1, "FLOP"},    Scale{1e3, "kFLOP"},  Scale{1e6, "MFLOP"},
                                 Scale{1e9, "GFLOP"}, Scale{1e12, "TFLOP"}, Scale{1e15, "PFLOP"}};
constexpr std::array kFlopRateScales{Scale{1, "FLOP/s"},    Scale{1e3, "kFLOP/s"},  Scale{1e6, "MFLOP/s"},
                                     Scale{1e9, "GFLOP/s"}, Scale{1e12, "TFLOP/s"}, Scale{1e15, "PFLOP/s"}};
constexpr std::array kBandwidthScales{Scale{1, "B/s"}, Scale{1e3, "kB/s"}, Scale{1e6, "MB/s"}, Scale{1e9, "GB/s"},
                                      Scale{1e12, "TB/s"}};

std::span<const Scale> scales_of(Unit unit) {
  switch (unit) {
    case Unit::kSeconds: return kTimeScales;
    case Unit::kBytes: return kByteScales;
    case Unit::kFlops: return kFlopScales;
    case Unit::kFlopsPerSecond: return kFlopRateScales;
    case Unit::kBytesPerSecond: return kBandwidthScales;
    default: return {};
  }
}

}  // namespace

std::optional<Scale> scale_of(double value, Unit unit) {
  const std::span<const Scale> scales = scales_of(unit);
  if (scales.empty()) return std::nullopt;
  const double size = std::fabs(value);
  if (size == 0 && unit == Unit::kSeconds) return kTimeScales.back();
  Scale chosen = scales.front();
  for (const Scale& scale : scales) {
    if (size >= scale.factor) chosen = scale;
  }
  return chosen;
}

std::string format_in(const Scale& scale, double value, double like) {
  const double size = std::fabs(like) / scale.factor;
  const bool whole = scale.factor == 1 && scale.name == "B";
  const int before_point = size > 0 ? static_cast<int>(std::floor(std::log10(size))) + 1 : 1;
  return fmt::format("{:.{}f}", value / scale.factor, whole ? 0 : std::clamp(4 - before_point, 0, 7));
}

}  // namespace laptime
