// filled_page: an HTML file whose style, scripts and data are inline.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace laptime {

// Replaces {{FILE}} in an embedded template by that file, {{data}} by the text of the JSON block, and {{policy}} by a
// content security policy that allows the scripts and styles of the template by their hashes, and nothing from outside.
std::string filled_page(std::string_view page, std::string_view data);

// ASCII JSON in which nothing can end a script element or begin a comment.
std::string harmless_in_html(const Json& json);

}  // namespace laptime
