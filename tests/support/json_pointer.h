// Finds a position in a JSON value by an RFC 6901 pointer, such as "/steps/0/loss".
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "base/json.h"

namespace laptime {

// The value at the pointer. Adds missing members. Does not support the escapes ~0 and ~1.
inline Json& at_pointer(Json& json, std::string_view pointer) {
  if (pointer.empty()) return json;
  const size_t end = std::min(pointer.find('/', 1), pointer.size());
  const std::string_view token = pointer.substr(1, end - 1);
  size_t index = 0;
  if (json.is_array()) std::from_chars(token.data(), token.data() + token.size(), index);
  return at_pointer(json.is_array() ? json.at(index) : json[token], pointer.substr(end));
}

}  // namespace laptime
