// Ranges of a stream as float32 and as integers.
#include "data/stream.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "base/error.h"

namespace laptime {

void fill_uniform(const Stream& stream, int64_t begin, std::span<float> out, double std, float center) {
  const auto amplitude = static_cast<float>(std::sqrt(3.0) * std);
  constexpr size_t kBlock = 256;
  std::array<int32_t, kBlock> top;
  for (size_t first = 0; first < out.size(); first += kBlock) {
    const size_t count = std::min(kBlock, out.size() - first);
    const auto index = begin + static_cast<int64_t>(first);
    for (size_t i = 0; i < count; ++i) top[i] = static_cast<int32_t>(stream[index + static_cast<int64_t>(i)] >> 40U);
    const std::span<float> block = out.subspan(first, count);
    for (size_t i = 0; i < count; ++i) {
      block[i] = static_cast<float>(2 * top[i] - (1 << 24)) * 0x1p-24F * amplitude;  // exact up to the last product
    }
    // A loop of its own: product and sum must not be contracted into one rounding.
    if (center != 0) {
      for (float& value : block) value += center;
    }
  }
}

void fill_integers(const Stream& stream, int64_t begin, std::span<int64_t> out, int64_t high) {
  LAPTIME_CHECK(high >= 1, "high {}", high);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<int64_t>(stream[begin + static_cast<int64_t>(i)] % static_cast<uint64_t>(high));
  }
}

}  // namespace laptime
