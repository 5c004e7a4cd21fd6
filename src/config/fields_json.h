// Converts structs that list their fields to JSON and back.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/key.h"
#include "config/option.h"

namespace laptime {

// A struct whose `visit_fields` names each field by a Key or by the key of an Option.
//
//   field                           JSON
//   bool, int64_t                   unchanged
//   double                          a number; null if it is not finite (read back as NaN)
//   text                            a string; null if it is empty, unless it belongs to an Option
//   enumeration with `choices_of`   the word for its value
//   std::optional                   null, or its value
//   std::vector                     an array
//   struct, map with string keys    an object
//   JsonObject                      unchanged
template <class T>
concept StatesFields = requires(T& value) {
  T::visit_fields(value, [](const Key&, auto&) {});
};

namespace fields_json {

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
constexpr bool kIsVector = false;
template <class T>
constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
constexpr bool kIsMap = false;
template <class T>
constexpr bool kIsMap<std::map<std::string, T>> = true;

template <class T>
Json value_of(const T& field, bool keeps_empty_text = false);

// Writes each field of a struct into an object.
struct ObjectWriter {
  Json& object;

  template <class T>
  void operator()(const Key& key, const T& field) const {
    object[key.name] = value_of(field);
  }
  template <class T>
  void operator()(const Option& option, const T& field) const {
    object[std::string(option.key)] = value_of(field, /*keeps_empty_text=*/true);
  }
};

template <class T>
Json value_of(const T& field, bool keeps_empty_text) {
  if constexpr (StatesFields<T>) {
    Json object = Json::object();
    T::visit_fields(field, ObjectWriter{object});
    return object;
  } else if constexpr (kIsOptional<T>) {
    return field ? value_of(*field, keeps_empty_text) : Json(nullptr);
  } else if constexpr (kIsVector<T>) {
    Json array = Json::array();
    for (const auto& element : field) array.push_back(value_of(element));
    return array;
  } else if constexpr (kIsMap<T>) {
    Json object = Json::object();
    for (const auto& [key, value] : field) object[key] = value_of(value);
    return object;
  } else if constexpr (std::is_same_v<T, JsonObject>) {
    return field.json();
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(name_of(field));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return field.empty() && !keeps_empty_text ? Json(nullptr) : Json(field);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::isfinite(field) ? Json(field) : Json(nullptr);
  } else {
    static_assert(std::is_same_v<T, int64_t> || std::is_same_v<T, bool>);
    return field;
  }
}

// The location of a value in a document, as a linked list of enclosing locations; formatted only for messages.
struct Place {
  const Place* outer = nullptr;
  std::string_view key = {};
  size_t index = 0;  // index in a list; used if `key` is empty

  std::string text() const {
    if (outer == nullptr) return "";
    std::string path = outer->text();
    return key.empty() ? fmt::format("{}[{}]", path, index) : fmt::format("{}{}{}", path, path.empty() ? "" : ".", key);
  }
};

// Reads the values of one document. Error messages read "DOCUMENT: 'path.to.key' must be a number, found ...; ADVICE".
class Reader {
 public:
  Reader(std::string_view document, std::string_view advice) : document_(document), advice_(advice) {}

  // A text, list, map, struct or optional field keeps its default if its key is null or missing. Plain numbers,
  // booleans and words of enums are required, because every writer knows their values; of these, only a double may be
  // null, and is then read as NaN.
  template <class T>
  void read(const Json& json, T& field, const Place& place = {}) const {
    if constexpr (std::is_same_v<T, double>) {
      if (!json.is_null() && !json.is_number()) reject(place, "a number", json);
      field = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!json.is_boolean()) reject(place, "true or false", json);
      field = json.get<bool>();
    } else if constexpr (std::is_same_v<T, int64_t>) {
      const bool fits =
          !json.is_number_unsigned() || json.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
      if (!json.is_number_integer() || !fits) reject(place, "an integer of at most 63 bits", json);
      field = json.get<int64_t>();
    } else if constexpr (std::is_enum_v<T>) {
      read_word(json, field, place);
    } else if constexpr (std::is_same_v<T, JsonObject>) {
      if (!json.is_object() && !json.is_null()) reject(place, "an object", json);
      field = JsonObject(json);
    } else if (!json.is_null()) {
      read_known(json, field, place);
    }
  }

 private:
  template <class T>
  void read_known(const Json& json, T& field, const Place& place) const {
    if constexpr (std::is_same_v<T, std::string>) {
      if (!json.is_string()) reject(place, "text", json);
      field = json.text();
    } else if constexpr (kIsOptional<T>) {
      read(json, field.emplace(), place);
    } else if constexpr (kIsVector<T>) {
      if (!json.is_array()) reject(place, "a list", json);
      field.clear();
      field.reserve(json.size());
      for (size_t i = 0; i < json.size(); ++i) read(json[i], field.emplace_back(), {.outer = &place, .index = i});
    } else if constexpr (kIsMap<T>) {
      if (!json.is_object()) reject(place, "an object", json);
      for (const auto& [key, value] : json.items()) read(value, field[key], {.outer = &place, .key = key});
    } else {
      static_assert(StatesFields<T>);
      if (!json.is_object()) reject(place, "an object", json);
      T::visit_fields(field, [&](const Key& key, auto& inner) {
        read_member(json.find(key.name), inner, {.outer = &place, .key = key.name});
      });
    }
  }

  template <class T>
  void read_member(const Json* json, T& field, const Place& place) const {
    if (json != nullptr) return read(*json, field, place);
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) fail(place, "is missing");
  }

  template <class T>
  void read_word(const Json& json, T& field, const Place& place) const {
    std::string words;
    for (const auto& choice : choices_of(T{})) {
      if (json.is_string() && json.text() == choice.name) {
        field = choice.value;
        return;
      }
      words += fmt::format("{}{}", words.empty() ? "one of " : ", ", choice.name);
    }
    reject(place, words, json);
  }

  [[noreturn]] void reject(const Place& place, std::string_view expected, const Json& found) const {
    std::string text = found.is_structured() ? found.type_name() : found.dump();
    if (text.size() > 40) text.replace(40, std::string::npos, "...");
    fail(place, fmt::format("must be {}, found {}", expected, text));
  }

  [[noreturn]] void fail(const Place& place, std::string_view what) const {
    throw Error::format("{}: '{}' {}{}{}", document_, place.text(), what, advice_.empty() ? "" : "; ", advice_);
  }

  std::string_view document_;
  std::string_view advice_;
};

}  // namespace fields_json

template <StatesFields T>
Json to_json(const T& value) {
  return fields_json::value_of(value);
}

// Ignores unknown keys. Throws Error if `json` is not an object, if a value has the wrong type or if a required key is
// missing (see Reader::read). The message starts with `document`; if it is about a key, it ends with `advice`.
template <StatesFields T>
T from_json(const Json& json, std::string_view document, std::string_view advice = {}) {
  if (!json.is_object()) throw Error::format("{}: expected a JSON object, found {}", document, json.type_name());
  T value;
  fields_json::Reader(document, advice).read(json, value);
  return value;
}

}  // namespace laptime
