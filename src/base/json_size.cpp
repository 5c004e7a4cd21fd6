// Counts brackets and colons outside strings.
#include "base/json_size.h"

#include <algorithm>

namespace laptime {

JsonSize json_size(std::string_view text) {
  JsonSize size;
  size_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    if (c == ':') ++size.keys;
    if (c == '[' || c == '{') size.depth = std::max(size.depth, ++depth);
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return size;
}

}  // namespace laptime
