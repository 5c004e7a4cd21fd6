// A struct that states its fields, as a JSON object. Include only in sources: it brings the JSON header.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "record/json_object.h"

namespace laptime {

template <class T>
void add_json(Json& object, const char* name, const T& field) {
  object[name] = field;
}
template <class T>
void add_json(Json& object, const char* name, const std::optional<T>& field) {
  object[name] = field ? Json(*field) : Json(nullptr);
}

// Fields are numbers, truth values, texts, lists of them, or optionals; an empty optional is null.
template <class T>
JsonObject fields_to_json(const T& value) {
  Json object = Json::object();
  T::visit_fields(value, [&](const char* name, const auto& field) { add_json(object, name, field); });
  return {std::move(object)};
}

}  // namespace laptime
