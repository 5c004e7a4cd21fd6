// Follows a path through objects and arrays.
#include "base/json_path.h"

#include "base/proc_text.h"

namespace laptime {

const Json* find_path(const Json& json, std::string_view path) {
  const Json* value = &json;
  for (const std::string_view segment : split(path, '.')) {
    if (value->is_object()) {
      value = value->find(segment);
    } else {
      const auto index = value->is_array() ? parse_int64(segment) : std::nullopt;
      const bool is_within = index && *index >= 0 && *index < static_cast<int64_t>(value->size());
      value = is_within ? &(*value)[static_cast<size_t>(*index)] : nullptr;
    }
    if (value == nullptr) return nullptr;
  }
  return value;
}

std::optional<double> number_at(const JsonObject& object, std::string_view path) {
  const Json* const value = find_path(object.json(), path);
  return value != nullptr && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

std::string text_at(const JsonObject& object, std::string_view path) {
  const Json* const value = find_path(object.json(), path);
  return value != nullptr && value->is_string() ? value->text() : "";
}

}  // namespace laptime
