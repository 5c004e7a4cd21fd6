// Json: a JSON value whose header is cheap to include. The header of the library that reads and writes text takes 2 s
// to compile, so only json.cpp and data/safetensors_header.cpp include it in the program.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace laptime {

// Thrown if a text is not JSON, if a value is not of the requested kind, or if a requested key or element is missing.
class JsonError : public Error {
 public:
  using Error::Error;
};

// null, a boolean, a number, a string, an array, or an object that keeps its keys in insertion order. Integers are
// exact from -2^63 to 2^64 - 1. Copies are deep.
class Json {
 public:
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;

  Json() noexcept;
  Json(std::nullptr_t) noexcept : Json() {}  // NOLINT(google-explicit-constructor)
  template <std::same_as<bool> T>
  Json(T truth) : Json(Truth{truth}) {}  // NOLINT(google-explicit-constructor)
  template <std::signed_integral T>
  Json(T number) : Json(Integer{number}) {}  // NOLINT(google-explicit-constructor)
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Json(T number) : Json(Natural{number}) {}  // NOLINT(google-explicit-constructor)
  template <std::floating_point T>
  Json(T number) : Json(Real{number}) {}                    // NOLINT(google-explicit-constructor)
  Json(std::string text);                                   // NOLINT(google-explicit-constructor)
  Json(std::string_view text) : Json(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  Json(const char* text) : Json(std::string(text)) {}       // NOLINT(google-explicit-constructor)
  template <class T>
  Json(const std::vector<T>& values)
      : Json(Array(values.begin(), values.end())) {}  // NOLINT(google-explicit-constructor)
  Json(Array elements);                               // NOLINT(google-explicit-constructor)
  // An object if each element is a pair of a string and a value, {{"key", value}, ...}; otherwise an array.
  Json(std::initializer_list<Json> values);
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json array() { return Json(Array()); }
  static Json array(std::initializer_list<Json> values) { return Json(Array(values)); }
  static Json object();

  // Throws JsonError unless `text` is one JSON value with at most 512 nested arrays and objects. If an object repeats a
  // key, its last value counts, and `repeated`, if not null, is set to the key.
  static Json parse(std::string_view text, std::string* repeated = nullptr);
  // Returns one line or, if `indent` is not negative, lines that are indented by `indent` spaces per level. The text is
  // ASCII: other characters are \u-escaped, and invalid UTF-8 is replaced. A number that is not finite becomes null.
  std::string dump(int indent = -1) const;

  bool is_null() const;
  bool is_boolean() const;
  bool is_number() const;
  bool is_number_integer() const;
  bool is_number_unsigned() const;  // an integer >= 0
  bool is_number_float() const { return is_number() && !is_number_integer(); }
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;
  bool is_structured() const { return is_array() || is_object(); }
  const char* type_name() const;  // "null", "boolean", "number", "string", "array", "object"

  // T is bool, an integer, double or std::string. Throws JsonError if the value is of another kind, except that any
  // number converts to a number type.
  template <class T>
  T get() const {
    if constexpr (std::same_as<T, bool>)
      return truth();
    else if constexpr (std::same_as<T, std::string>)
      return text();
    else if constexpr (std::unsigned_integral<T>)
      return static_cast<T>(natural());
    else if constexpr (std::integral<T>)
      return static_cast<T>(integer());
    else
      return static_cast<T>(real());
  }
  const std::string& text() const;
  std::string& text();

  // The number of elements of an array or members of an object; 0 for null, 1 for other values.
  size_t size() const;
  bool empty() const { return size() == 0; }

  // For arrays. Throws JsonError if the value is not an array or the index is out of range; push_back and emplace_back
  // turn null into an array.
  const Array& elements() const;
  Array& elements();
  Array::const_iterator begin() const { return elements().begin(); }
  Array::const_iterator end() const { return elements().end(); }
  Array::iterator begin() { return elements().begin(); }
  Array::iterator end() { return elements().end(); }
  const Json& front() const { return at(size_t{0}); }
  const Json& back() const { return at(size() - 1); }
  Json& back() { return at(size() - 1); }
  const Json& at(size_t index) const;
  Json& at(size_t index);
  void push_back(Json element);
  Json& emplace_back(Json element);

  // For objects. Throws JsonError if the value is not an object, and at() if the key is missing; operator[] of a
  // non-const value turns null into an object and adds a missing key.
  const Object& items() const;
  Object& items();
  const Json* find(std::string_view key) const;  // null if the key is missing or this is not an object
  Json* find(std::string_view key);
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  const Json& at(std::string_view key) const;
  Json& operator[](std::string_view key);
  void erase(std::string_view key);

  const Json& operator[](size_t index) const { return at(index); }
  Json& operator[](size_t index) { return at(index); }
  const Json& operator[](std::string_view key) const { return at(key); }

  // Numbers are compared by value, and objects regardless of key order.
  friend bool operator==(const Json& a, const Json& b);

 private:
  struct Truth {
    bool value;
  };
  struct Integer {
    int64_t value;
  };
  struct Natural {
    uint64_t value;
  };
  struct Real {
    double value;
  };
  explicit Json(Truth truth);
  explicit Json(Integer number);
  explicit Json(Natural number);
  explicit Json(Real number);
  bool truth() const;
  int64_t integer() const;
  uint64_t natural() const;
  double real() const;
  [[noreturn]] void reject(const char* expected) const;

  // Integers above 2^63 - 1 are uint64_t, all others int64_t.
  std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, Array, Object> value_;
};

struct Json::Member {
  std::string key;
  Json value;
};

// A value as Json::dump() writes it, except that a string is not quoted or escaped.
std::string plain_text(const Json& json);

// A JSON object; empty after default construction.
class JsonObject {
 public:
  JsonObject() : json_(Json::object()) {}
  JsonObject(Json object);  // NOLINT(google-explicit-constructor): throws Error unless it is an object or null

  const Json& json() const { return json_; }
  Json& json() { return json_; }

  // The value of `key` as plain_text() shows it, or "" if there is none.
  std::string text(std::string_view key) const;

  friend bool operator==(const JsonObject& a, const JsonObject& b) = default;

 private:
  Json json_;
};

}  // namespace laptime
