// Rows of cells as text with aligned columns.
#pragma once

#include <string>
#include <vector>

namespace laptime {

using Cells = std::vector<std::string>;

// Columns are as wide as their widest cell, two spaces apart, after `indent` spaces, and right-aligned if `right` is
// true for them. Rows may differ in length. Lines have no trailing spaces and end in a line break. If the columns
// together are wider than `width` (0: no limit), the first one that does not fit is broken at spaces, and later columns
// go below it.
std::string aligned(const std::vector<Cells>& rows, const std::vector<bool>& right = {}, size_t indent = 0,
                    size_t width = 0);

}  // namespace laptime
