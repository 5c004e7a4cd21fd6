// Repeatable samples with known distributions, for statistical tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "base/random.h"

namespace laptime {

// Draws the same numbers on every machine, which the distributions of the standard library do not guarantee.
class RandomSamples {
 public:
  explicit RandomSamples(uint64_t seed) : seed_(seed) {}

  double uniform() { return (static_cast<double>(hash_combine(seed_, counter_++) >> 11U) + 0.5) * 0x1p-53; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  std::vector<double> normals(int64_t count, double mean, double deviation) {
    std::vector<double> samples;
    for (int64_t i = 0; i < count; ++i) samples.push_back(mean + deviation * normal());
    return samples;
  }
  // A first-order autoregression: each sample keeps `memory` of the previous sample's distance from the mean.
  std::vector<double> autoregression(int64_t count, double mean, double deviation, double memory) {
    std::vector<double> samples;
    double distance = deviation * normal();
    for (int64_t i = 0; i < count; ++i) {
      samples.push_back(mean + distance);
      distance = memory * distance + std::sqrt(1 - memory * memory) * deviation * normal();
    }
    return samples;
  }

 private:
  uint64_t seed_;
  uint64_t counter_ = 0;
};

}  // namespace laptime
