// The option table, visited once, as JSON.
#include "record/config_json.h"

#include <nlohmann/json.hpp>
#include <string>

namespace laptime {
namespace {

template <class T>
Json json_of(const Option& option, const T& field) {
  if constexpr (requires { field.has_value(); }) {
    return field ? json_of(option, *field) : Json(nullptr);
  } else if constexpr (std::is_enum_v<T>) {
    return Json(text_of(option, field));
  } else {
    return Json(field);
  }
}

}  // namespace

JsonObject config_json(const RunConfig& config) {
  Json object = Json::object();
  RunConfig::visit_fields(config, [&](const Option& option, const auto& field) {
    object[std::string(option.key)] = json_of(option, field);
  });
  return {std::move(object)};
}

}  // namespace laptime
