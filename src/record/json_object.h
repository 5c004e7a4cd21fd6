// JsonObject: part of a record whose keys the record does not know (config, machine), without the cost of the JSON
// header.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace laptime {

// Keys stay in the order in which they were written.
using Json = nlohmann::ordered_json;

// A value on one line of ASCII: other characters are \u-escaped, bytes that are no UTF-8 replaced.
std::string ascii_text(const Json& json);
// The same, but strings as they are, without quotes and escapes.
std::string plain_text(const Json& json);

// An object {key: value, ...}; empty after default construction. Copies are deep.
class JsonObject {
 public:
  JsonObject();
  JsonObject(Json object);  // NOLINT(google-explicit-constructor): Error unless an object (null: empty)
  JsonObject(const nlohmann::json& object);  // NOLINT(google-explicit-constructor): the same, from the sorted kind
  JsonObject(const JsonObject& other);
  JsonObject(JsonObject&& other) noexcept;
  JsonObject& operator=(const JsonObject& other);
  JsonObject& operator=(JsonObject&& other) noexcept;
  ~JsonObject();

  const Json& json() const { return *json_; }
  Json& json() { return *json_; }

  // The value of `key` as plain_text() shows it, "" where there is none.
  std::string text(std::string_view key) const;

  friend bool operator==(const JsonObject& a, const JsonObject& b);

 private:
  std::unique_ptr<Json> json_;  // never null, but for a moved-from object
};

}  // namespace laptime
