// Converts ranges of a stream to float32 and to integers.
#include "data/stream.h"

#include <cmath>

#include "base/error.h"
#include "data/fill_loops.h"

namespace laptime {

void fill_uniform(const Stream& stream, int64_t begin, std::span<float> out, double std, float center) {
  const auto amplitude = static_cast<float>(std::sqrt(3.0) * std);
  fill_loops().uniform(stream.key(), begin, out.data(), static_cast<int64_t>(out.size()), amplitude, center);
}

void fill_integers(const Stream& stream, int64_t begin, std::span<int64_t> out, int64_t high) {
  LAPTIME_CHECK(high >= 1, "high {}", high);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<int64_t>(stream[begin + static_cast<int64_t>(i)] % static_cast<uint64_t>(high));
  }
}

}  // namespace laptime
