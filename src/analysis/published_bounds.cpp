// The table of ratios, and what is known of all machines together.
#include "analysis/published_bounds.h"

#include <algorithm>
#include <array>

namespace laptime {
namespace {

constexpr std::array kRatios{PublishedRatio{"a100", "bfloat16 autocast", "eager", 11, 1.21, 1.11, 1.39},
                             PublishedRatio{"a100", "float32", "eager", 14, 1.07, 0.45, 1.11},
                             PublishedRatio{"a100", "tf32", "compile", 10, 2.05, 1.68, 2.44},
                             PublishedRatio{"a100", "tf32", "eager", 38, 1.37, 1.23, 2.99},
                             PublishedRatio{"a100-40", "float32", "eager", 11, 1.06, 1.01, 1.10},
                             PublishedRatio{"b200", "bfloat16 autocast", "eager", 10, 1.54, 1.25, 1.93},
                             PublishedRatio{"b200", "float32", "compile", 4, 1.73, 1.53, 1.86},
                             PublishedRatio{"b200", "float32", "eager", 14, 1.28, 1.07, 1.42},
                             PublishedRatio{"h100", "bfloat16 autocast", "eager", 11, 1.27, 0.88, 1.98},
                             PublishedRatio{"h100", "float32", "compile", 18, 1.85, 1.47, 4.30},
                             PublishedRatio{"h100", "float32", "eager", 28, 1.22, 1.11, 1.73},
                             PublishedRatio{"h100", "tf32", "compile", 25, 3.07, 1.52, 7.70},
                             PublishedRatio{"h100", "tf32", "eager", 42, 1.26, 0.95, 2.74},
                             PublishedRatio{"l4", "float32", "eager", 8, 0.62, 0.41, 0.91},
                             PublishedRatio{"rtx-pro-6000", "bfloat16 autocast", "compile", 10, 2.39, 1.87, 2.84},
                             PublishedRatio{"rtx-pro-6000", "bfloat16 autocast", "eager", 10, 0.88, 0.78, 1.16},
                             PublishedRatio{"rtx-pro-6000", "tf32", "compile", 10, 1.66, 1.27, 4.87},
                             PublishedRatio{"rtx-pro-6000", "tf32", "eager", 30, 0.92, 0.79, 3.97},
                             PublishedRatio{"rtx4090", "bfloat16 autocast", "eager", 5, 1.05, 0.77, 1.42},
                             PublishedRatio{"rtx4090", "float32", "eager", 9, 1.16, 0.99, 1.51}};

}  // namespace

std::span<const PublishedRatio> published_ratios() { return kRatios; }

std::optional<PublishedRatio> published_ratio(std::string_view machine, std::string_view dtype, std::string_view mode) {
  const std::string_view arithmetic = dtype == "float32" || dtype == "tf32" ? dtype : "bfloat16 autocast";
  PublishedRatio all{.machine = {}, .arithmetic = arithmetic, .mode = mode};
  double weighted = 0;
  for (const PublishedRatio& one : kRatios) {
    if (one.arithmetic != arithmetic || one.mode != mode) continue;
    if (one.machine == machine) return one;
    all.low = all.times == 0 ? one.low : std::min(all.low, one.low);
    all.high = std::max(all.high, one.high);
    all.times += one.times;
    weighted += one.median * static_cast<double>(one.times);
  }
  if (all.times == 0) return std::nullopt;
  all.median = weighted / static_cast<double>(all.times);
  return all;
}

}  // namespace laptime
