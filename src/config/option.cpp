// Reading numbers, words and switches of options from text.
#include "config/option.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include "base/error.h"
#include "base/words.h"

namespace laptime {
namespace {

constexpr size_t kLongestWord = 4096;  // PATH_MAX

// "64 to 4096", "at least 1" where nothing bounds it in practice.
std::string range_text(const Option& option) {
  if (option.max >= 9e18) return fmt::format("at least {}", option.min);
  return fmt::format("{} to {}", option.min, option.max);
}

[[noreturn]] void reject(const Option& option, std::string_view where, std::string_view text, std::string_view wanted) {
  const std::string_view unit = option.unit;
  throw Error::format("{}: {} is not {}{}{}", where, quote(text), wanted, unit.empty() ? "" : " of ", unit);
}

template <class T>
void parse_number(const Option& option, std::string_view where, std::string_view text, std::string_view wanted,
                  T& field) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  const bool too_large = problem == std::errc::result_out_of_range;
  if (stop != end || (problem != std::errc() && !too_large)) reject(option, where, text, wanted);
  const auto size = static_cast<double>(value);
  if (too_large || !std::isfinite(size) || size < option.min || size > option.max) {
    throw Error::format("{}: {} is out of range; give {}{}{}", where, quote(text), range_text(option),
                        option.unit.empty() ? "" : " ", option.unit);
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

void parse_value(const Option& option, std::string_view where, std::string_view text, bool& field) {
  if (text != "true" && text != "false") reject(option, where, text, "true or false");
  field = text == "true";
}

void parse_value(const Option& option, std::string_view where, std::string_view text, std::string& field) {
  if (text.empty()) throw Error::format("{}: the value is empty; leave the option out to use its default", where);
  if (text.size() > kLongestWord) {
    throw Error::format("{}: the value is {} bytes long; at most {} are read", where, text.size(), kLongestWord);
  }
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) throw Error::format("{}: control character in {}", where, quote(text));
  }
  field = option.canonical != nullptr ? option.canonical(where, text) : std::string(text);
}

void reject_word(std::string_view where, std::string_view what, std::string_view word,
                 const std::vector<std::string_view>& known) {
  throw Error::format("{}: unknown {} {}{} (one of: {})", where, what, quote(word), did_you_mean(word, known),
                      fmt::join(known, ", "));
}

}  // namespace laptime
