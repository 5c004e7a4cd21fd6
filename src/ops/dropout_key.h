// The key of a dropout mask. Shared by the kernels of all devices.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace laptime {

// Describes one mask. Its key for a step plus the index of an element gives the element's random number (dropout.h).
struct DropoutCounter {
  uint64_t seed, place;
  int64_t first;

  constexpr uint64_t key(int64_t step) const {
    return splitmix64(splitmix64(seed + static_cast<uint64_t>(step)) ^ place) + static_cast<uint64_t>(first);
  }
};

}  // namespace laptime
