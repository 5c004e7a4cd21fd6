// filled_page: an HTML file whose style, scripts and data are inline.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace laptime {

// The page that `script`, an embedded file, builds from its JSON block. The content security policy allows the embedded
// scripts and styles by their hashes, and nothing from outside. Text in `data` becomes text nodes.
std::string filled_page(std::string_view script, const Json& data);

}  // namespace laptime
