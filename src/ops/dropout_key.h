// The key of a dropout mask. Shared by the kernels of all devices.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace laptime {

// Identifies one mask. Element i takes its random number in a step from splitmix64(key(step) + i), as dropout.h
// describes.
struct DropoutCounter {
  uint64_t seed, place;
  int64_t first;

  constexpr uint64_t key(int64_t step) const {
    return splitmix64(splitmix64(seed + static_cast<uint64_t>(step)) ^ place) + static_cast<uint64_t>(first);
  }
};

}  // namespace laptime
