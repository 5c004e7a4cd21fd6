// Stream: counter-based random bits in which element i depends only on (seed, name, i), so that any thread can compute
// any range. tests/golden/README.md defines it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/random.h"

namespace laptime {

// Element i is splitmix64(key + i) with key = splitmix64(seed XOR fnv1a64(name)), modulo 2^64.
class Stream {
 public:
  constexpr Stream(uint64_t seed, std::string_view name) : key_(splitmix64(seed ^ fnv1a64(name))) {}

  constexpr uint64_t key() const { return key_; }
  constexpr uint64_t operator[](int64_t index) const { return splitmix64(key_ + static_cast<uint64_t>(index)); }

 private:
  uint64_t key_;
};

// Elements [begin, begin + out.size()) as float32, uniform in [center - a, center + a) with a = float32(sqrt(3) std).
// Each is center + (2u - 2^24) 2^-24 a, where u is the top 24 bits; the product and the sum are each rounded once.
void fill_uniform(const Stream& stream, int64_t begin, std::span<float> out, double std, float center = 0);

// Elements [begin, begin + out.size()) modulo `high`, high >= 1.
void fill_integers(const Stream& stream, int64_t begin, std::span<int64_t> out, int64_t high);

}  // namespace laptime
