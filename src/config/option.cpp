// Reads numbers, words and switches of options from text.
#include "config/option.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include "base/error.h"
#include "base/words.h"

namespace laptime {
namespace {

constexpr size_t kMaxWordBytes = 4096;  // PATH_MAX

std::string_view unit_name(const Option& option) { return option.unit == "s" ? "seconds" : option.unit; }

// "64 to 4096 tokens", or "at least 1" for an option without a practical upper bound.
std::string range_text(const Option& option) {
  std::string range =
      option.max >= 9e18 ? fmt::format("at least {}", option.min) : fmt::format("{} to {}", option.min, option.max);
  if (!option.unit.empty()) range += fmt::format(" {}", unit_name(option));
  return range;
}

bool is_in_range(const Option& option, double value) {
  return std::isfinite(value) && value >= option.min && value <= option.max;
}

// "give seconds, for example 30" for "30s", a number followed by its unit; the allowed range for any other text.
template <class T>
std::string advice(const Option& option, std::string_view text) {
  T value{};
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest(stop, static_cast<size_t>(text.data() + text.size() - stop));
  if (problem != std::errc() || rest.empty() || rest != option.unit ||
      !is_in_range(option, static_cast<double>(value))) {
    return fmt::format("give {}", range_text(option));
  }
  return fmt::format("give {}, for example {}", unit_name(option), value);
}

template <class T>
void parse_number(const Option& option, std::string_view where, std::string_view text, std::string_view type_name,
                  T& field) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  const bool too_large = problem == std::errc::result_out_of_range;
  if (stop != end || (problem != std::errc() && !too_large)) {
    throw Error::format("{}: {} is not {}; {}", where, quote(text), type_name, advice<T>(option, text));
  }
  if (too_large || !is_in_range(option, static_cast<double>(value))) {
    throw Error::format("{}: {} is out of range; give {}", where, quote(text), range_text(option));
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
  if (text.empty()) throw Error::format("{}: the value is empty; leave the option out to use its default", where);
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
  throw Error::format("{}: unknown {} {}{} (one of: {})", where, what, quote(word), did_you_mean(word, known),
                      fmt::join(known, ", "));
}

}  // namespace laptime
