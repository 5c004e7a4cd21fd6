// Values as shown to people: scaled units, rounded digits, shares, uncertainties and ratios.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/key.h"

namespace laptime {

// A multiple of a unit, such as ms for seconds.
struct Scale {
  double factor = 1;      // one `name` equals this many units
  std::string_view name;  // "ms"
};

// "ms" for 0.0123 s; none for a unit without multiples.
std::optional<Scale> scale_of(double value, Unit unit);

// True if a value is hard to read in a scale: it has five or more digits before the decimal point, or two zeros
// follow the point, and a better scale exists.
bool misfits(const Scale& scale, double value, Unit unit);

// A common scale for values shown side by side, based on their geometric mean. None unless some value is known and
// nonzero.
std::optional<Scale> common_scale(std::span<const double> values, Unit unit);

// The number without its unit, with as many decimals as `like` needs for four significant digits.
std::string format_in(const Scale& scale, double value, double like);

// The value in its unit: "129 ms", "22 %", "1.50x", "31,500". Null, a number that is not finite, and the limits of
// int64_t in bytes (which mean "unknown") become "-". Without a scale, a suitable one is chosen.
//
// `uncertainty` is the half-width of the 95 % interval as a fraction of the value. Digits are rounded following the
// Particle Data Group: one digit of the uncertainty is kept if its first two digits are 36 to 94, otherwise two. With
// 0, three significant digits are shown, and digits before the decimal point are never rounded away.
std::string value_text(const Json& value, Unit unit, std::optional<Scale> scale = std::nullopt, double uncertainty = 0);

// Omits the unit, for a column whose header states it: "129".
std::string number_text(double value, Unit unit, const Scale& scale, double uncertainty = 0);

// A fraction in percent: "62 %", "2.0 %", "0.031 %", "<0.0001 %".
std::string percent_text(double fraction);

// A fraction in whole percent: "62 %".
std::string whole_percent_text(double fraction);

// A change in percent: "+3.4 %".
std::string change_text(double fraction);

// A number with `decimals` decimals or, from a million on, three digits: "1.034", "1e+308"; "-" if it is not finite.
std::string fixed_text(double value, int decimals);

// Each part's share of the sum, in whole percent that add up to 100: the parts with the largest remainders are rounded
// up. All are 0 if the sum is 0 or not finite.
std::vector<int64_t> whole_percents(const std::vector<double>& parts);

// An uncertainty: "±7 %", "±0.4 %". Never "±0 %", except for 0.
std::string plus_minus_text(double fraction);

// The ratio, "1.5x", with as many digits as the interval justifies.
std::string ratio_text(double ratio, double low, double high);
// The ratio with its interval: "1.5x (1.2-1.7)".
std::string ratio_with_interval(double ratio, double low, double high);

// The digits with commas: "31,500". Four digits have no comma.
std::string grouped_digits(std::string digits);

}  // namespace laptime
