// Ratios of published times to bounds from data sheets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace laptime {

// Published times divided by bounds, over all machines; docs/predictions.md has the same table.
struct PublishedRatio {
  std::string_view arithmetic;  // "bfloat16 autocast", "tf32", "float32"
  std::string_view mode;        // "eager", "compile"
  int64_t times = 0;            // number of published times
  double median = 0, low = 0, high = 0;
};
std::span<const PublishedRatio> published_ratios();

// The ratio for a number type ("bfloat16") and mode. None if nothing was published for that arithmetic.
std::optional<PublishedRatio> published_ratio(std::string_view dtype, std::string_view mode);

}  // namespace laptime
