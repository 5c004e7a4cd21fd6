// JSON objects held by value.
#include "record/json_object.h"

#include <utility>

#include "base/error.h"

namespace laptime {

JsonObject::JsonObject(Json object) : json_(object.is_null() ? Json::object() : std::move(object)) {
  if (!json_.is_object()) throw Error::format("expected a JSON object, found {}", json_.type_name());
}

std::string JsonObject::text(std::string_view key) const {
  const Json* const found = json_.find(key);
  return found == nullptr || found->is_null() ? "" : plain_text(*found);
}

}  // namespace laptime
