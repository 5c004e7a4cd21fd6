// Computes scales, digits and shares.
#include "table/value_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

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

int exponent_of(double size) { return static_cast<int>(std::floor(std::log10(size))); }

// A byte count at a limit of int64_t means "unknown".
bool is_known(double value, Unit unit) {
  return std::isfinite(value) && (unit != Unit::kBytes || std::fabs(value) < 0x1p63);
}

// The power of ten of the last digit to show.
int last_digit(double size, double uncertainty) {
  constexpr int kDigits = 3;
  if (size == 0) return 0;
  const int plain = exponent_of(size) - (kDigits - 1);
  if (uncertainty <= 0) return plain;
  const double doubt = size * std::min(uncertainty, 1.0);
  const double leading = doubt / std::pow(10, exponent_of(doubt));  // 1 to 10
  // From 9.5 on, the rule rounds to 10 and keeps both digits. The last digit then has the same place as the single
  // digit kept below 9.5, so no special case is needed.
  const bool two_digits = leading < 3.55;
  return std::max(plain, std::min(exponent_of(doubt) - (two_digits ? 1 : 0), exponent_of(size)));
}

int ratio_decimals(double low, double high) {
  const double width = high - low;
  if (width >= 2 && low >= 10) return 0;
  return width >= 0.1 ? 1 : width >= 0.01 ? 2 : 3;
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

bool misfits(const Scale& scale, double value, Unit unit) {
  const std::span<const Scale> scales = scales_of(unit);
  if (scales.empty() || value == 0 || !is_known(value, unit)) return false;
  const double size = std::fabs(value) / scale.factor;
  return (size >= 1e4 && scale.factor < scales.back().factor) || (size < 0.01 && scale.factor > scales.front().factor);
}

std::optional<Scale> common_scale(std::span<const double> values, Unit unit) {
  double logarithms = 0;
  size_t count = 0;
  for (const double value : values) {
    if (value == 0 || !is_known(value, unit)) continue;
    logarithms += std::log(std::fabs(value));
    ++count;
  }
  return count == 0 ? std::nullopt : scale_of(std::exp(logarithms / static_cast<double>(count)), unit);
}

std::string format_in(const Scale& scale, double value, double like) {
  if (!std::isfinite(value) || !std::isfinite(like)) return "-";
  const double size = std::fabs(like) / scale.factor;
  const bool whole = scale.factor == 1 && scale.name == "B";
  const int before_point = size > 0 ? exponent_of(size) + 1 : 1;
  return fmt::format("{:.{}f}", value / scale.factor, whole ? 0 : std::clamp(4 - before_point, 0, 7));
}

std::string grouped_digits(std::string digits) {
  constexpr size_t kLeast = 5;  // 1234 needs no separator
  const size_t begin = !digits.empty() && digits[0] == '-' ? 1 : 0;
  const size_t end = std::min(digits.find('.'), digits.size());
  if (end - begin < kLeast) return digits;
  for (size_t at = end; at > begin + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string number_text(double value, Unit unit, const Scale& scale, double uncertainty) {
  if (!is_known(value, unit)) return "-";
  const double scaled = value / scale.factor;
  if (unit == Unit::kBytes && scale.factor == 1) return grouped_digits(fmt::format("{:.0f}", value));
  const int last = last_digit(std::fabs(scaled), uncertainty);
  // Without an uncertainty, digits before the decimal point are always kept.
  if (last <= 0 || uncertainty <= 0) return grouped_digits(fmt::format("{:.{}f}", scaled, std::clamp(-last, 0, 9)));
  const double step = std::pow(10, last);
  return grouped_digits(fmt::format("{:.0f}", std::round(scaled / step) * step));
}

std::string value_text(const Json& value, Unit unit, std::optional<Scale> scale, double uncertainty) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_number()) return value.dump();
  const auto number = value.get<double>();
  if (!is_known(number, unit)) return "-";
  if (!scale) scale = scale_of(number, unit);
  if (scale) return fmt::format("{} {}", number_text(number, unit, *scale, uncertainty), scale->name);
  switch (unit) {
    case Unit::kFraction: return percent_text(number);
    case Unit::kRatio:
      return number > 0 && number < 0.1 ? fmt::format("{:.2g}x", number) : fmt::format("{:.2f}x", number);
    case Unit::kTokensPerSecond: return number_text(number, unit, Scale{}, uncertainty);
    case Unit::kNats: return fmt::format("{:.4f}", number);
    default: break;
  }
  if (value.is_number_float()) return fmt::format("{:.6g}", number);
  return value.is_number_unsigned() ? fmt::to_string(value.get<uint64_t>()) : fmt::to_string(value.get<int64_t>());
}

std::string percent_text(double fraction) {
  if (!std::isfinite(fraction)) return "-";
  const double percent = 100 * fraction;
  const double size = std::abs(percent);
  if (size >= 10) return fmt::format("{:.0f} %", percent);
  if (size < 0.0001) return percent > 0 ? "<0.0001 %" : "0 %";  // never in scientific notation
  return size >= 0.1 ? fmt::format("{:.1f} %", percent) : fmt::format("{:.2g} %", percent);
}

std::string whole_percent_text(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.0f} %", 100 * fraction) : "-";
}

std::string change_text(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:+.1f} %", 100 * fraction) : "-";
}

std::string fixed_text(double value, int decimals) {
  constexpr double kLong = 1e6;
  if (!std::isfinite(value)) return "-";
  return std::abs(value) < kLong ? fmt::format("{:.{}f}", value, decimals) : fmt::format("{:.3g}", value);
}

std::vector<int64_t> whole_percents(const std::vector<double>& parts) {
  std::vector<int64_t> percents(parts.size());
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);  // may overflow: parts are arbitrary numbers
  if (!(sum > 0) || !std::isfinite(sum)) return percents;
  std::vector<std::pair<double, size_t>> remainders;
  for (size_t i = 0; i < parts.size(); ++i) {
    const double percent = 100 * (parts[i] / sum);
    percents[i] = static_cast<int64_t>(percent);
    remainders.emplace_back(percent - std::floor(percent), i);
  }
  std::stable_sort(remainders.begin(), remainders.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const int64_t left = 100 - std::accumulate(percents.begin(), percents.end(), int64_t{0});
  const auto rounded_up = std::min(static_cast<size_t>(std::max<int64_t>(left, 0)), remainders.size());
  for (size_t i = 0; i < rounded_up; ++i) ++percents[remainders[i].second];
  return percents;
}

std::string plus_minus_text(double fraction) {
  const double percent = 100 * std::fabs(fraction);
  if (!std::isfinite(percent)) return "±?";
  if (percent == 0 || percent >= 1) return fmt::format("±{:.0f} %", percent);
  return fmt::format("±{:.1f} %", std::max(percent, 0.1));
}

std::string ratio_text(double ratio, double low, double high) {
  return std::isfinite(ratio) ? fmt::format("{:.{}f}x", ratio, ratio_decimals(low, high)) : "-";
}

std::string ratio_with_interval(double ratio, double low, double high) {
  if (!std::isfinite(ratio)) return "-";
  const int decimals = ratio_decimals(low, high);
  return fmt::format("{}x ({}-{})", fixed_text(ratio, decimals), fixed_text(low, decimals), fixed_text(high, decimals));
}

}  // namespace laptime
