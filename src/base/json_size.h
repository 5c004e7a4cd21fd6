// The size of a JSON text, determined without parsing it, so that limits can be enforced before a value is built.
#pragma once

#include <cstddef>
#include <string_view>

namespace laptime {

struct JsonSize {
  size_t depth = 0;  // deepest nesting of arrays and objects; 0 for a single number or text
  size_t keys = 0;   // total over all objects
};

// The result is unspecified if the text is not JSON.
JsonSize json_size(std::string_view text);

}  // namespace laptime
