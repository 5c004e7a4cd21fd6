// How many times as long published runs took as the bound of a data sheet.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace laptime {

// Published times over predicted ones; docs/predictions.md has the same table, made by tools/published_predictions.py.
struct PublishedRatio {
  std::string_view machine;     // "h100"; empty: of all machines
  std::string_view arithmetic;  // "bfloat16 autocast", "tf32", "float32"
  std::string_view mode;        // "eager", "compile"
  int64_t times = 0;            // how many were published
  double median = 0, low = 0, high = 0;
};
std::span<const PublishedRatio> published_ratios();

// The ratio for a machine, number type ("bfloat16") and mode; of all machines together, without a machine, where none
// was published for this one. None for arithmetic of which nothing was published.
std::optional<PublishedRatio> published_ratio(std::string_view machine, std::string_view dtype, std::string_view mode);

}  // namespace laptime
