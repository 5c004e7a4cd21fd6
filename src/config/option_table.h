// The options of a configuration struct as a table, and access to a field by the flag or key of its option.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/option.h"
#include "config/synonyms.h"

namespace laptime {

enum class ValueKind : uint8_t { kInteger, kNumber, kSwitch, kWord };

template <class T>
constexpr ValueKind kind_of() {
  if constexpr (requires(T field) { field.has_value(); }) {
    return kind_of<typename T::value_type>();
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return ValueKind::kInteger;
  } else if constexpr (std::is_same_v<T, double>) {
    return ValueKind::kNumber;
  } else if constexpr (std::is_same_v<T, bool>) {
    return ValueKind::kSwitch;
  } else {
    static_assert(std::is_enum_v<T> || std::is_same_v<T, std::string>);
    return ValueKind::kWord;
  }
}

struct OptionRow {
  Option option;
  ValueKind kind = ValueKind::kWord;
  bool is_optional = false;                    // also accepts the word `option.empty`
  std::vector<std::string_view> choices = {};  // the words of an enum
  bool is_narrowed = false;                    // the command accepts only `choices`, although the option has more
  std::string fallback = {};                   // the default as shown in help: `option.otherwise`, or the initial value
};

// The row of an option. `initial` is the initial value of its field, as text.
OptionRow option_row(const Option& option, ValueKind kind, bool is_optional, std::vector<std::string_view> choices,
                     std::string initial);

// All options of a struct, in the order of declaration.
template <class Config>
std::vector<OptionRow> option_rows() {
  std::vector<OptionRow> rows;
  const Config fresh;
  Config::visit_fields(fresh, [&](const Option& option, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    constexpr bool kOptional = requires { field.has_value(); };
    std::vector<std::string_view> choices;
    if constexpr (std::is_enum_v<Field>) {
      choices = names_of_choices<Field>();
    } else if constexpr (requires { typename Field::value_type; }) {
      if constexpr (std::is_enum_v<typename Field::value_type>)
        choices = names_of_choices<typename Field::value_type>();
    }
    rows.push_back(option_row(option, kind_of<Field>(), kOptional, std::move(choices), text_of(option, field)));
  });
  return rows;
}

template <class Config>
std::optional<Option> find_option(std::string_view flag) {
  std::optional<Option> found;
  const Config fresh;
  Config::visit_fields(fresh, [&](const Option& option, const auto&) {
    if (option.flag == flag) found = option;
  });
  return found;
}

// Reads `text`, or the value for which it is a synonym, into the field whose option has this flag or key; returns false
// if the struct has no such option.
template <class Config>
bool assign(Config& config, std::string_view flag_or_key, std::string_view where, std::string_view text) {
  bool found = false;
  Config::visit_fields(config, [&](const Option& option, auto& field) {
    if (option.flag != flag_or_key && option.key != flag_or_key) return;
    parse_value(option, where, meant_value(option.flag, text), field);
    found = true;
  });
  return found;
}

// The value of the field whose option has this flag or key, as text; none if the struct has no such option.
template <class Config>
std::optional<std::string> option_text(const Config& config, std::string_view flag_or_key) {
  std::optional<std::string> text;
  Config::visit_fields(config, [&](const Option& option, const auto& field) {
    if (option.flag == flag_or_key || option.key == flag_or_key) text = text_of(option, field);
  });
  return text;
}

// These functions are compiled once, in option_table.cpp, for the two structs whose options most commands take.
struct RunConfig;
struct OutputConfig;
extern template std::vector<OptionRow> option_rows<RunConfig>();
extern template std::vector<OptionRow> option_rows<OutputConfig>();
extern template std::optional<Option> find_option<RunConfig>(std::string_view);
extern template std::optional<Option> find_option<OutputConfig>(std::string_view);
extern template bool assign(RunConfig&, std::string_view, std::string_view, std::string_view);
extern template bool assign(OutputConfig&, std::string_view, std::string_view, std::string_view);
extern template std::optional<std::string> option_text(const RunConfig&, std::string_view);
extern template std::optional<std::string> option_text(const OutputConfig&, std::string_view);

}  // namespace laptime
