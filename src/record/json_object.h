// JsonObject: part of a record whose keys the record does not know (config, machine).
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace laptime {

// A value as Json::dump() writes it, but a string as it is, without quotes and escapes.
inline std::string plain_text(const Json& json) { return json.is_string() ? json.text() : json.dump(); }

// An object {key: value, ...}; empty after default construction. Copies are deep.
class JsonObject {
 public:
  JsonObject() : json_(Json::object()) {}
  JsonObject(Json object);  // NOLINT(google-explicit-constructor): Error unless an object (null: empty)

  const Json& json() const { return json_; }
  Json& json() { return json_; }

  // The value of `key` as plain_text() shows it, "" where there is none.
  std::string text(std::string_view key) const;

  friend bool operator==(const JsonObject& a, const JsonObject& b) = default;

 private:
  Json json_;
};

}  // namespace laptime
