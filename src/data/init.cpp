// Fills parameters with the fill loops of this machine.
#include "data/init.h"

#include <algorithm>

#include "data/fill_loops.h"

namespace laptime {

void fill_normal(const Stream& stream, int64_t begin, std::span<float> out, double std) {
  constexpr float kNoLimit = 1e30F;
  fill_loops().normal(stream.key(), begin, out.data(), static_cast<int64_t>(out.size()),
                      {0, kNoLimit, static_cast<float>(std)});
}

void fill_truncated_normal(const Stream& stream, int64_t begin, std::span<float> out, double std) {
  constexpr float kCut = 3;
  constexpr double kTailProbability = 1.3498980316300946e-3;  // Phi(-3)
  fill_loops().normal(stream.key(), begin, out.data(), static_cast<int64_t>(out.size()),
                      {static_cast<float>(kTailProbability), kCut, static_cast<float>(std)});
}

void fill_parameter(const ParameterSpec& parameter, WeightInit init, int64_t seed, int64_t begin,
                    std::span<float> out) {
  const auto key = static_cast<uint64_t>(seed);
  if (init == WeightInit::kStream) {
    const auto center = static_cast<float>(parameter.stream.mean);
    return fill_uniform(Stream(key, parameter.name), begin, out, parameter.stream.std, center);
  }
  const Stream stream(key, "init/" + parameter.name);
  switch (parameter.init.distribution) {
    case Distribution::kZeros: std::fill(out.begin(), out.end(), 0.0F); return;
    case Distribution::kOnes: std::fill(out.begin(), out.end(), 1.0F); return;
    case Distribution::kNormal: return fill_normal(stream, begin, out, parameter.init.std);
    case Distribution::kTruncatedNormal: return fill_truncated_normal(stream, begin, out, parameter.init.std);
  }
}

}  // namespace laptime
