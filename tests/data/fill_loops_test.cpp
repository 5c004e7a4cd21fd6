// The fill loops of every instruction set give the same bits, which also match stored hashes.
#include "data/fill_loops.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "data/init.h"

namespace laptime {
namespace {

constexpr NormalShape kWhole{0, 1e30F, 1};
constexpr NormalShape kCut{1.35e-3F, 3, 0.02F};

uint64_t hash_of(const std::vector<float>& values) {
  uint64_t hash = 0;
  for (const float value : values) hash = splitmix64(hash ^ std::bit_cast<uint32_t>(value));
  return hash;
}

// The results of all fill loops over a range of odd length.
std::vector<float> made_by(const FillLoops& loops) {
  constexpr int64_t kCount = 200'003;
  std::vector<float> values(4 * kCount);
  loops.normal(11, 5, values.data(), kCount, kWhole);
  loops.normal(12, 5, values.data() + kCount, kCount, kCut);
  loops.uniform(13, 5, values.data() + 2 * kCount, kCount, 0.1F, 0);
  loops.uniform(14, 5, values.data() + 3 * kCount, kCount, 0.1F, 1);
  return values;
}

TEST(FillLoops, EveryInstructionSetGivesTheSameBits) {
  const std::vector<float> plain = made_by(fill_loops_of(cpu::Isa::kPlain));
  for (const cpu::Isa isa : cpu::runnable_isas()) {
    const std::vector<float> values = made_by(fill_loops_of(isa));
    EXPECT_EQ(std::memcmp(values.data(), plain.data(), plain.size() * sizeof(float)), 0) << name_of(isa);
  }
}

// Stored losses stay comparable only if these bits never change.
TEST(FillLoops, BitsMatchStoredHashes) {
  std::vector<float> values(100'000);
  const Stream stream(7, "init/w");
  fill_normal(stream, 3, values, 0.02);
  EXPECT_EQ(hash_of(values), 11808593191067070859U);
  fill_truncated_normal(stream, 3, values, 0.0360843918);
  EXPECT_EQ(hash_of(values), 13091339216848788845U);
}

}  // namespace
}  // namespace laptime
