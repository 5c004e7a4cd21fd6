// Records as a Markdown table (GitHub's dialect).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "record/record.h"

namespace laptime {

// The cells are those of the terminal's table; a table of a source document, whose columns are fixed, is
// followed by a list of the points that are not ok. Everything that Markdown or HTML would read as markup is escaped.
std::string markdown(std::span<const Record> records, std::string_view columns = "default");

}  // namespace laptime
