// Counter-based streams of random bits: element i is computed from (seed, name, i) alone, so any range can be made by
// any thread. The definition is that of tests/golden/README.md.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace laptime {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014), its increment included.
constexpr uint64_t splitmix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

// FNV-1a, 64 bits, of the bytes of `text`.
constexpr uint64_t fnv1a64(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001B3ULL;
  return hash;
}

// Element i is splitmix64(key + i), key = splitmix64(seed XOR fnv1a64(name)), modulo 2^64.
class Stream {
 public:
  constexpr Stream(uint64_t seed, std::string_view name) : key_(splitmix64(seed ^ fnv1a64(name))) {}

  constexpr uint64_t operator[](int64_t index) const { return splitmix64(key_ + static_cast<uint64_t>(index)); }

 private:
  uint64_t key_;
};

// Elements [begin, begin + out.size()) as float32, uniform in [center - a, center + a), a = float32(sqrt(3) std):
// center + (2u - 2^24) 2^-24 a with u the top 24 bits; the product is rounded once, the sum once more.
void fill_uniform(const Stream& stream, int64_t begin, std::span<float> out, double std, float center = 0);

// Elements [begin, begin + out.size()) modulo `high`, high >= 1.
void fill_integers(const Stream& stream, int64_t begin, std::span<int64_t> out, int64_t high);

}  // namespace laptime
