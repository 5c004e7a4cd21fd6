// How large a JSON text is, counted without parsing it: a limit then holds before anything is built from the text.
#pragma once

#include <cstddef>
#include <string_view>

namespace laptime {

struct JsonSize {
  size_t depth = 0;  // most arrays and objects around a value
  size_t keys = 0;   // of all objects together
};

// The result is unspecified if the text is not JSON.
JsonSize json_size(std::string_view text);

}  // namespace laptime
