// JSON objects held by value, and JSON values as text.
#include "record/json_object.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace laptime {
namespace {

Json checked(Json json) {
  if (json.is_null()) return Json::object();
  if (!json.is_object()) throw Error::format("expected a JSON object, found {}", json.type_name());
  return json;
}

}  // namespace

std::string ascii_text(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

std::string plain_text(const Json& json) { return json.is_string() ? json.get<std::string>() : ascii_text(json); }

JsonObject::JsonObject() : json_(std::make_unique<Json>(Json::object())) {}
JsonObject::JsonObject(Json object) : json_(std::make_unique<Json>(checked(std::move(object)))) {}
JsonObject::JsonObject(const nlohmann::json& object) : JsonObject(Json(object)) {}
JsonObject::JsonObject(const JsonObject& other) : json_(std::make_unique<Json>(*other.json_)) {}
JsonObject::JsonObject(JsonObject&& other) noexcept = default;
JsonObject& JsonObject::operator=(const JsonObject& other) {
  if (this != &other) json_ = std::make_unique<Json>(*other.json_);
  return *this;
}
JsonObject& JsonObject::operator=(JsonObject&& other) noexcept = default;
JsonObject::~JsonObject() = default;

std::string JsonObject::text(std::string_view key) const {
  const auto found = json_->find(key);
  return found == json_->end() || found->is_null() ? "" : plain_text(*found);
}

bool operator==(const JsonObject& a, const JsonObject& b) { return *a.json_ == *b.json_; }

}  // namespace laptime
