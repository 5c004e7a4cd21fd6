// Text of messages: quotes user input safely for a terminal, finds the nearest known name, and counts, lower-cases and
// joins words.
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

// Converts ASCII letters to lower case; other bytes are unchanged.
char lower(char c);
std::string lowered(std::string_view text);

// 'word' in single quotes; control bytes become \xNN, and long text is cut to its first 80 bytes.
std::string quote(std::string_view word);

// The shortest known name that starts with the word and is at most twice as long ("speedup" for "speed"; not for words
// of one or two letters), or else the name with the fewest edits (insert, delete, replace, swap neighbours), ignoring
// case. Empty if no name is close enough.
std::string_view nearest_name(std::string_view word, const std::vector<std::string_view>& known);

// "; did you mean 'small'?", or empty.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known);

// "saved activations" for the key "saved_activations".
std::string spaced(std::string_view key);

// "1 step", "0 steps", "4 steps".
template <std::integral Count>
std::string counted(Count count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Joins strings or numbers with `separator`. fmt::join would take 0.4 s to compile in each source.
std::string joined(std::span<const std::string> texts, std::string_view separator);
std::string joined(std::span<const std::string_view> texts, std::string_view separator);
std::string joined(const std::set<std::string>& texts, std::string_view separator);
std::string joined(std::span<const int64_t> numbers, std::string_view separator);
std::string joined(std::span<const uint64_t> numbers, std::string_view separator);
// Leaves out empty texts.
std::string joined_nonempty(std::vector<std::string> texts, std::string_view separator);

}  // namespace laptime
