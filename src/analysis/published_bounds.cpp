// The table of ratios.
#include "analysis/published_bounds.h"

#include <algorithm>
#include <array>

namespace laptime {
namespace {

constexpr std::array kRatios{PublishedRatio{"bfloat16 autocast", "compile", 10, 2.39, 1.87, 2.84},
                             PublishedRatio{"bfloat16 autocast", "eager", 47, 1.21, 0.77, 1.98},
                             PublishedRatio{"float32", "compile", 22, 1.83, 1.47, 4.30},
                             PublishedRatio{"float32", "eager", 84, 1.12, 0.41, 1.73},
                             PublishedRatio{"tf32", "compile", 45, 2.53, 1.27, 7.70},
                             PublishedRatio{"tf32", "eager", 110, 1.21, 0.79, 3.97}};

}  // namespace

std::span<const PublishedRatio> published_ratios() { return kRatios; }

std::optional<PublishedRatio> published_ratio(std::string_view dtype, std::string_view mode) {
  const std::string_view arithmetic = dtype == "float32" || dtype == "tf32" ? dtype : "bfloat16 autocast";
  const auto* const found = std::ranges::find_if(
      kRatios, [&](const PublishedRatio& one) { return one.arithmetic == arithmetic && one.mode == mode; });
  return found == kRatios.end() ? std::nullopt : std::optional(*found);
}

}  // namespace laptime
