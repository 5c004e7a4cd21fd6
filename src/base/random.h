// A hash of text, and counter-based random bits. Each element of a stream can be computed independently, so results do
// not depend on the number of threads or the order of computation.
#pragma once

#include <cstdint>
#include <string_view>

namespace laptime {

// The output of SplitMix64 (Steele, Lea and Flood 2014) for the state `x`, with wrapping arithmetic.
constexpr uint64_t splitmix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

// Mixes `value` into the hash `seed`.
constexpr uint64_t hash_combine(uint64_t seed, uint64_t value) { return splitmix64(seed + value); }

// FNV-1a, 64 bits.
constexpr uint64_t fnv1a64(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3ULL;
  return hash;
}

}  // namespace laptime
