// What one option states about itself, and how the value of its field is written as text and read from it.
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

namespace laptime {

// Whether the name of a point has the option: where it is swept, always, or always and in front, without its tag.
enum class InName : uint8_t { kWhereSwept, kAlways, kFirst };

// A configuration struct states its fields once, in `visit_fields(self, visit)`, as `visit(Option{...}, self.field)`.
// Flag, TOML key, sweep axis, JSON key, column, name tag, range check and help all follow from that statement; nothing
// else names an option. A field is an int64_t, double, bool, std::string, an enum with `choices_of`, or a std::optional
// of the first two.
struct Option {
  std::string_view flag;            // "context" is --context on the command line and `context` in TOML
  std::string_view key;             // JSON key and column: "context_length"
  std::string_view tag = {};        // in names of points: "ctx"
  std::string_view group;           // heading in --help
  std::string_view unit = {};       // "tokens", "s"; empty for plain numbers and words
  std::string_view help;            // one line
  std::string_view otherwise = {};  // the default in words, where it follows from other options
  std::string_view empty = "auto";  // how an optional field without a value is written
  double min = 0;                   // range of a number, both ends included
  double max = std::numeric_limits<double>::max();
  bool axis = true;  // takes a list, and a sweep is the product of the lists
  InName in_name = InName::kWhereSwept;
  bool changes_result = true;   // two runs that differ in it are different runs
  bool of_engine = false;       // says where and how the engine runs, not what: `verify` takes these alone
  std::string_view value = {};  // how --help writes the value; empty: from the type of the field
  // The word that is kept for a word that was given; throws Error, which starts with `where`, for one that names
  // nothing.
  std::string (*canonical)(std::string_view where, std::string_view word) = nullptr;
};

template <class E>
struct Choice {
  E value;
  std::string_view name;
};

// The word of an enum's value; the words stand in the `choices_of` beside the enum.
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
  std::vector<std::string_view> names;
  for (const auto& choice : choices_of(E{})) names.push_back(choice.name);
  return names;
}

// The value of an option as people and files write it: numbers in their shortest exact form.
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

// Reads a field from text. Error says where the text stands (`where`: "--context", "a.toml:3: context"), what is wrong
// with it and what is allowed.
void parse_value(const Option& option, std::string_view where, std::string_view text, int64_t& field);
void parse_value(const Option& option, std::string_view where, std::string_view text, double& field);
void parse_value(const Option& option, std::string_view where, std::string_view text, bool& field);
void parse_value(const Option& option, std::string_view where, std::string_view text, std::string& field);

// Error for a word that is none of `known`: "--mode: unknown mode 'eagr'; did you mean 'eager'? (one of: eager)".
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

// Error unless a number of the model or run lies in its option's range.
template <class T>
void check_range(const Option& option, const T& field) {
  if constexpr (requires { field.has_value(); }) {
    if (field.has_value()) check_range(option, *field);
  } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
    T same{};
    parse_value(option, fmt::format("--{}", option.flag), text_of(option, field), same);
  }
}

}  // namespace laptime
