// How many times as long published runs took as the bound of a data sheet.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace laptime {

// Published times over bounds, of all machines together; docs/predictions.md has the same table.
struct PublishedRatio {
  std::string_view arithmetic;  // "bfloat16 autocast", "tf32", "float32"
  std::string_view mode;        // "eager", "compile"
  int64_t times = 0;            // how many were published
  double median = 0, low = 0, high = 0;
};
std::span<const PublishedRatio> published_ratios();

// The ratio for a number type ("bfloat16") and mode. None for arithmetic of which nothing was published.
std::optional<PublishedRatio> published_ratio(std::string_view dtype, std::string_view mode);

}  // namespace laptime
