// Colours of pictures, told apart by people who are colour-blind (Paul Tol's bright and muted schemes).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "report/memory/ledger.h"

namespace laptime {

struct NamedColor {
  std::string_view name;
  std::string_view color;  // "#4477aa"
};
std::span<const NamedColor> class_colors();  // of classes of work

// Grey for a name that is unknown.
std::string_view color_of_phase(std::string_view phase);       // "forward"
std::string_view color_of_class(std::string_view work_class);  // "matmul"
std::string_view color_of(MemoryCategory category);

// Of bytes that belong to no category.
inline constexpr std::string_view kGapsColor = "#555555";

// Numbers of the patterns that a page draws over these colours, so that they can be told apart in black and white. No
// two phases have the same number, no two classes and no two categories. An unknown name has the number after the known
// ones.
size_t pattern_of_phase(std::string_view phase);
size_t pattern_of_class(std::string_view work_class);
size_t pattern_of(MemoryCategory category);

}  // namespace laptime
