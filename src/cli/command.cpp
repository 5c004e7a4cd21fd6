// Words that several commands take.
#include "cli/command.h"

#include <charconv>

#include "base/error.h"
#include "base/words.h"

namespace laptime {

double parse_percent(std::string_view where, std::string_view text) {
  double value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest = text.substr(static_cast<size_t>(stop - text.data()));
  const bool is_percent = rest.empty() || rest == "%" || rest == " %";
  if (problem != std::errc() || !is_percent || !(value >= 0 && value <= 100))
    throw Error::format("{}: {} is not a percentage; give 0 to 100, for example 2%", where, quote(text));
  return value / 100;
}

std::string canonical_percent(std::string_view where, std::string_view text) {
  parse_percent(where, text);
  return std::string(text);
}

}  // namespace laptime
