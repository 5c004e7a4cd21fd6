// Tables of colours.
#include "report/palette.h"

#include <algorithm>
#include <array>

namespace laptime {
namespace {

constexpr std::array kPhaseColors{NamedColor{"forward", "#4477aa"}, NamedColor{"inference", "#66ccee"},
                                  NamedColor{"backward", "#ee6677"}, NamedColor{"optimizer", "#ccbb44"}};
constexpr std::array kClassColors{
    NamedColor{"matmul", "#88ccee"},      NamedColor{"attention", "#44aa99"}, NamedColor{"softmax", "#117733"},
    NamedColor{"elementwise", "#ddcc77"}, NamedColor{"reduction", "#999933"}, NamedColor{"cast", "#cc6677"},
    NamedColor{"copy", "#aa4499"},        NamedColor{"loss", "#882255"},      NamedColor{"optimizer", "#8877cc"}};
constexpr std::array<std::string_view, kMemoryCategoryCount> kCategoryColors{
    "#4477aa", "#66ccee", "#332288", "#ee6677", "#aa3377", "#228833", "#ccbb44", "#bbbbbb"};

// The number of the colour with this name; that of colours if there is none.
size_t place_of(std::span<const NamedColor> colors, std::string_view name) {
  const auto found =
      std::find_if(colors.begin(), colors.end(), [&](const NamedColor& one) { return one.name == name; });
  return static_cast<size_t>(found - colors.begin());
}

std::string_view find_color(std::span<const NamedColor> colors, std::string_view name) {
  const size_t place = place_of(colors, name);
  return place == colors.size() ? "#bbbbbb" : colors[place].color;
}

}  // namespace

std::span<const NamedColor> class_colors() { return kClassColors; }
std::string_view color_of_phase(std::string_view phase) { return find_color(kPhaseColors, phase); }
std::string_view color_of_class(std::string_view work_class) { return find_color(kClassColors, work_class); }
std::string_view color_of(MemoryCategory category) { return kCategoryColors.at(static_cast<size_t>(category)); }

size_t pattern_of_phase(std::string_view phase) { return place_of(kPhaseColors, phase); }
size_t pattern_of_class(std::string_view work_class) { return place_of(kClassColors, work_class); }
size_t pattern_of(MemoryCategory category) { return static_cast<size_t>(category); }

}  // namespace laptime
