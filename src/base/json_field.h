// A value of a JSON document together with the place where it stands, so that a wrong one is an Error that names it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace laptime {

// The document, at most `max_depth` values deep. `where` names it in messages. Error when it is no JSON.
Json parse_json(std::string_view text, const std::string& where, int max_depth);

// Refers to the document, which must live longer. All functions throw Error where the value is not as asked.
class JsonField {
 public:
  JsonField(const Json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  bool has(std::string_view key) const;    // an object that has the key, and not null
  bool holds(std::string_view key) const;  // an object that has the key, whatever its value
  bool is_neutral() const;                 // null, false, 0, "", [] or {}
  std::string brief() const;               // the value for a message, cut off where it is long
  JsonField at(std::string_view key) const;
  std::vector<JsonField> elements() const;                         // of an array
  std::vector<std::pair<std::string, JsonField>> members() const;  // of an object
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
