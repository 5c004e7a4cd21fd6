// Reads numbers, words and switches of options from text.
#include "config/option.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "base/error.h"
#include "base/words.h"
#include "config/synonyms.h"

namespace laptime {
namespace {

constexpr size_t kMaxWordBytes = 4096;  // PATH_MAX

constexpr double kUnbounded = 9e18;  // an option with this maximum has no practical upper bound

std::string_view unit_name(const Option& option) { return option.unit == "s" ? "seconds" : option.unit; }

// "64 to 4096 tokens", or "at least 1" for an option without a practical upper bound.
std::string range_text(const Option& option) {
  std::string range = option.max >= kUnbounded ? fmt::format("at least {}", option.min)
                                               : fmt::format("{} to {}", option.min, option.max);
  if (!option.unit.empty()) range += fmt::format(" {}", unit_name(option));
  return range;
}

bool is_in_range(const Option& option, double value) {
  return std::isfinite(value) && value >= option.min && value <= option.max;
}

// Seconds per unit of time; 1 if no unit is given, 0 for an unknown unit.
double seconds_in(std::string_view unit) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  if (unit.empty() || unit == "s") return 1;
  if (unit == "m" || unit == "min") return kMinute;
  return unit == "h" ? kHour : 0;
}

// "; write 12000 or 12288" for "12k"; empty unless `number` is 1 to 10^9 and `rest` is k or K.
std::string without_kilo(int64_t number, std::string_view rest) {
  constexpr int64_t kMost = 1'000'000'000;
  if ((rest != "k" && rest != "K") || number < 1 || number > kMost) return "";
  return fmt::format("; write {} or {}", 1000 * number, 1024 * number);
}

// Parses a number. A time may have a unit: "30", "30s", "5m", "1h".
template <class T>
void parse_number(const Option& option, std::string_view where, std::string_view text, std::string_view type_name,
                  T& field) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  const bool too_large = problem == std::errc::result_out_of_range;
  const bool is_time = option.unit == "s";
  const double scale = is_time ? seconds_in(std::string_view(stop, static_cast<size_t>(end - stop))) : 1;
  const bool has_rest = is_time ? scale == 0 : stop != end;
  if (has_rest || (problem != std::errc() && !too_large)) {
    if constexpr (std::is_same_v<T, int64_t>) {
      const std::string in_full = without_kilo(value, std::string_view(stop, static_cast<size_t>(end - stop)));
      if (!in_full.empty()) throw Error::format("{}: {} is not {}{}", where, quote(text), type_name, in_full);
    }
    throw Error::format("{}: {} is not {}; give {}{}", where, quote(text), is_time ? "a time" : type_name,
                        range_text(option), is_time ? ", or a time such as 30s, 5m or 1h" : "");
  }
  if (scale != 1) value = static_cast<T>(static_cast<double>(value) * scale);
  if (too_large || !is_in_range(option, static_cast<double>(value))) {
    // range_text() states no maximum for such an option, so the message states the largest integer instead.
    const bool exceeds_integers =
        std::is_same_v<T, int64_t> && too_large && option.max >= kUnbounded && !text.starts_with('-');
    throw Error::format(
        "{}: {} is out of range; give {}", where, quote(text),
        exceeds_integers ? fmt::format("at most {}", std::numeric_limits<int64_t>::max()) : range_text(option));
  }
  field = value;
}

}  // namespace

void parse_value(const Option& option, std::string_view where, std::string_view text, int64_t& field) {
  parse_number(option, where, text, "a whole number", field);
}

void parse_value(const Option& option, std::string_view where, std::string_view text, double& field) {
  parse_number(option, where, text, "a number", field);
}

void parse_value(const Option&, std::string_view where, std::string_view text, bool& field) {
  if (text != "true" && text != "false") {
    throw Error::format("{}: {} is not allowed; write true or false", where, quote(text));
  }
  field = text == "true";
}

void parse_value(const Option& option, std::string_view where, std::string_view text, std::string& field) {
  if (text.empty())
    throw Error::format("{}: a value is empty; remove it, or leave out the option to use its default", where);
  if (text.size() > kMaxWordBytes) {
    throw Error::format("{}: the value is {} bytes long; give at most {}", where, text.size(), kMaxWordBytes);
  }
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) throw Error::format("{}: control character in {}; remove it", where, quote(text));
  }
  field = option.canonical != nullptr ? option.canonical(where, text) : std::string(text);
}

void reject_word(std::string_view where, std::string_view what, std::string_view word,
                 const std::vector<std::string_view>& known) {
  const std::string hint = hint_for(what, word);
  throw Error::format("{}: unknown {} {}{} (one of: {})", where, what, quote(word),
                      hint.empty() ? did_you_mean(word, known) : hint, joined(known, ", "));
}

}  // namespace laptime
