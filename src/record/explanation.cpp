// An explanation as JSON.
#include "record/explanation.h"

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

namespace laptime {
namespace {

template <class T>
Json json_of(const T& field) {
  if constexpr (requires { T::visit_fields(field, [](const char*, const auto&) {}); }) {
    Json object = Json::object();
    T::visit_fields(field, [&](const char* name, const auto& inner) { object[name] = json_of(inner); });
    return object;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return field.empty() ? Json(nullptr) : Json(field);
  } else if constexpr (std::is_same_v<T, JsonObject>) {
    return field.json();
  } else if constexpr (requires { field.has_value(); }) {
    return field ? json_of(*field) : Json(nullptr);
  } else if constexpr (requires { typename T::mapped_type; }) {
    Json object = Json::object();
    for (const auto& [key, value] : field) object[key] = json_of(value);
    return object;
  } else if constexpr (requires { field.begin(); }) {
    Json array = Json::array();
    for (const auto& element : field) array.push_back(json_of(element));
    return array;
  } else {
    return field;
  }
}

}  // namespace

JsonObject to_json(const Explanation& explanation) { return {json_of(explanation)}; }

}  // namespace laptime
