// Words from outside inside our messages: quoted so that a terminal is safe, matched to the nearest known name, and
// counted.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace laptime {

// ASCII letters in lower case; every other byte as it is.
char lower(char c);
std::string lowered(std::string_view text);

// 'word' in single quotes; control bytes as \xNN, long text cut to its first 80 bytes.
std::string quote(std::string_view word);

// The shortest known name that goes on where the word ends ("speed" for "speedup"), else the one that is the fewest
// edits away (insert, delete, replace, swap neighbours); letter case is free. Empty where none is near enough to be
// meant.
std::string_view nearest_name(std::string_view word, const std::vector<std::string_view>& known);

// "; did you mean 'small'?", or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known);

// "1 step", "0 steps", "4 steps".
template <std::integral Count>
std::string counted(Count count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Joins texts with `separator`. fmt::join would take 0.4 s to compile in each source.
std::string joined(std::span<const std::string> texts, std::string_view separator);
std::string joined(std::span<const std::string_view> texts, std::string_view separator);
std::string joined(const std::set<std::string>& texts, std::string_view separator);
std::string joined(std::span<const int64_t> numbers, std::string_view separator);
std::string joined(std::span<const uint64_t> numbers, std::string_view separator);

}  // namespace laptime
