// The size of a JSON text, determined without parsing it, so that limits can be enforced before anything is built.
#pragma once

#include <cstddef>
#include <string_view>

namespace laptime {

struct JsonSize {
  size_t depth = 0;  // maximum number of arrays and objects around a value
  size_t keys = 0;   // total over all objects
};

// The result is unspecified if the text is not JSON.
JsonSize json_size(std::string_view text);

}  // namespace laptime
