// A value in a JSON document together with its location, so that an Error can name an invalid value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace laptime {

// Parses a document that messages call `where`. Throws Error if it is not JSON or has more than `max_depth` levels.
Json parse_json(std::string_view text, const std::string& where, int max_depth);

// Refers to the document, which must outlive the field. Functions that convert the value, or enter one of its elements
// or members, throw Error if the value has another type, lacks the key or is out of range.
class JsonField {
 public:
  JsonField(const Json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  bool has(std::string_view key) const;    // true if this is an object with a non-null value for the key
  bool holds(std::string_view key) const;  // true if this is an object with the key, whatever its value
  bool is_neutral() const;                 // true for null, false, 0, "", [] and {}
  std::string brief() const;               // the value for a message, truncated if long
  JsonField at(std::string_view key) const;
  std::vector<JsonField> elements() const;                         // elements of an array
  std::vector<std::pair<std::string, JsonField>> members() const;  // members of an object
  std::string text() const;
  bool truth() const;
  double number() const;
  int64_t integer(int64_t min, int64_t max = INT64_MAX) const;

  [[noreturn]] void fail(std::string_view expected) const;

 private:
  const Json* value_;
  std::string where_;
};

}  // namespace laptime
