// Instruction sets: their names, and the sets that this machine can run.
#include "base/isa.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace laptime::cpu {
namespace {

TEST(Isa, InstructionSetsHaveNames) {
  EXPECT_EQ(name_of(Isa::kPlain), "plain");
  EXPECT_EQ(name_of(Isa::kAvx2), "avx2");
  EXPECT_EQ(name_of(Isa::kAvx512), "avx512");
}

TEST(Isa, DetectionAgreesWithTheCompilerRuntime) {
  __builtin_cpu_init();
  EXPECT_EQ(detect_isa() >= Isa::kAvx512, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                              __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"));
  EXPECT_EQ(detect_isa() >= Isa::kAvx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  EXPECT_EQ(may_use_bfloat16_pairs(), __builtin_cpu_supports("avx512bf16") != 0);
}

// The code around tile products is compiled for vdpbf16ps.
TEST(Isa, UsesTilesOnlyWithBfloat16Pairs) { EXPECT_TRUE(may_use_bfloat16_pairs() || !may_use_tiles()); }

TEST(Isa, RunnableIsasAreSortedAndDoNotExceedTheDetectedOne) {
  const std::vector<Isa> isas = runnable_isas();
  ASSERT_FALSE(isas.empty());
  EXPECT_TRUE(std::is_sorted(isas.begin(), isas.end()));
  EXPECT_LE(isas.back(), detect_isa());
  EXPECT_EQ(widest_isa(), isas.back());
}

}  // namespace
}  // namespace laptime::cpu
