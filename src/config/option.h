// Option: the description of one option, and how values are written as text and read back.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/ranges.h"

namespace laptime {

// When the name of a point contains the value of an option: only if the option is swept, only if it is given, always,
// or always as the first word and without a tag.
enum class InName : uint8_t { kWhereSwept, kWhereGiven, kAlways, kFirst };

// A configuration struct declares each field once, in `visit_fields(self, visit)`, as `visit(Option{...}, self.field)`.
// Flag, TOML key, sweep axis, JSON key, column, name tag, range check and help are all derived from that declaration. A
// field is an int64_t, double, bool, std::string, an enum with `choices_of`, or a std::optional of one of them.
struct Option {
  std::string_view flag = {};       // "context" is --context on the command line and `context` in TOML
  std::string_view key = {};        // JSON key and column: "context_length"
  std::string_view tag = {};        // in names of points: "ctx"
  std::string_view group = {};      // heading in --help
  std::string_view unit = {};       // "tokens", "s"; empty for plain numbers and words
  std::string_view help = {};       // one line
  std::string_view otherwise = {};  // the default in words, if it depends on other options
  std::string_view empty = "auto";  // the word for an optional field without a value
  double min = 0;                   // inclusive range of a number
  double max = std::numeric_limits<double>::max();
  bool axis = true;         // accepts a list of values, which becomes an axis of the sweep
  bool joins_list = false;  // for an option that is not an axis: a list is joined by commas into a single value
  InName in_name = InName::kWhereSwept;
  bool changes_result = true;      // runs that differ only in this option count as different runs
  bool configures_engine = false;  // configures the engine, not the training step; `verify` takes only such options
  std::string_view value = {};     // placeholder in --help; empty: derived from the type of the field
  // Maps a given word to its canonical form. Throws Error, with a message that starts with `where`, for an unknown
  // word.
  std::string (*canonical)(std::string_view where, std::string_view word) = nullptr;
};

// For Option::canonical: returns the text unchanged; throws Error unless `parse` accepts it.
template <auto parse>
std::string unchanged(std::string_view where, std::string_view text) {
  parse(where, text);
  return std::string(text);
}

template <class E>
struct Choice {
  E value{};
  std::string_view name{};
};

// The choices of an enum, from the names of its values in order.
template <class E, class... Names>
constexpr auto choices(Names... names) {
  std::array<Choice<E>, sizeof...(names)> all{};
  uint8_t next = 0;
  ((all[next] = {static_cast<E>(next), names}, ++next), ...);
  return all;
}

// The word for an enum value, from the `choices_of` declared next to the enum; "?" if the value has no word.
template <class E>
requires std::is_enum_v<E>
constexpr std::string_view name_of(E value) {
  for (const auto& choice : choices_of(E{})) {
    if (choice.value == value) return choice.name;
  }
  return "?";
}

template <class E>
std::vector<std::string_view> names_of_choices() {
  return mapped(choices_of(E{}), &Choice<E>::name);
}

// The value of an option as text that parse_value reads back; numbers in their shortest exact form.
template <class T>
std::string text_of(const Option& option, const T& field) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(name_of(field));
  } else if constexpr (requires { field.has_value(); }) {
    return field.has_value() ? text_of(option, *field) : std::string(option.empty);
  } else {
    return fmt::format("{}", field);
  }
}

// Reads a field from text. Error messages start with `where` ("--context", "a.toml:3: context") and say what is wrong
// and what is allowed.
void parse_value(const Option& option, std::string_view where, std::string_view text, int64_t& field);
void parse_value(const Option& option, std::string_view where, std::string_view text, double& field);
void parse_value(const Option& option, std::string_view where, std::string_view text, bool& field);
void parse_value(const Option& option, std::string_view where, std::string_view text, std::string& field);

// Throws the Error for a word that is not in `known`: "--mode: unknown mode 'eagr'; did you mean 'eager'? (one of:
// eager, compile)".
[[noreturn]] void reject_word(std::string_view where, std::string_view what, std::string_view word,
                              const std::vector<std::string_view>& known);

template <class E>
requires std::is_enum_v<E>
void parse_value(const Option& option, std::string_view where, std::string_view text, E& field) {
  for (const auto& choice : choices_of(E{})) {
    if (choice.name == text) {
      field = choice.value;
      return;
    }
  }
  reject_word(where, option.flag, text, names_of_choices<E>());
}

template <class T>
void parse_value(const Option& option, std::string_view where, std::string_view text, std::optional<T>& field) {
  if (text == option.empty) {
    field.reset();
    return;
  }
  T value{};
  parse_value(option, where, text, value);
  field = value;
}

// Throws Error unless a number is in the range of its option.
template <class T>
void check_range(const Option& option, const T& field, const std::string& where) {
  if constexpr (requires { field.has_value(); }) {
    if (field.has_value()) check_range(option, *field, where);
  } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
    T same{};
    parse_value(option, where, text_of(option, field), same);
  }
}

}  // namespace laptime
