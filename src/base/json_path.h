// Values in nested JSON, found by a dotted path: "sensors.joules_per_step", "load_average.0".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace laptime {

// The value at the path; null if there is none.
const Json* find_path(const Json& json, std::string_view path);

// The number or text at the path; none or "" if it is missing or has another type.
std::optional<double> number_at(const JsonObject& object, std::string_view path);
std::string text_at(const JsonObject& object, std::string_view path);

}  // namespace laptime
