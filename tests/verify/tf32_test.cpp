// Verification of TF32 products, which has its own tolerances and runs no other type.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "report/verification_text.h"
#include "support/error_of.h"
#include "support/golden_path.h"
#include "verify/verify.h"

namespace laptime {
namespace {

RunConfig on_one_thread() {
  RunConfig machine;
  machine.device = "cpu";
  machine.threads = 1;
  return machine;
}

// The CPU, as a stand-in for a GPU that multiplies in TF32.
Device multiplies_tf32(const RunConfig& config) {
  EXPECT_EQ(config.dtype, Precision::kTf32);
  RunConfig on_cpu = config;
  on_cpu.dtype = Precision::kFloat32;
  return find_device(on_cpu);
}

TEST(VerifyTf32, HasItsOwnTolerances) {
  const GoldenCase golden = read_golden(test::golden_path("tiny_2025"));
  const VerifiedFile file = verify_golden(golden, on_one_thread(), {}, multiplies_tf32, {.known = {}, .tf32 = true});
  EXPECT_TRUE(file.pass()) << print(file);
  std::map<std::string, size_t> counts;
  for (const VerifiedGroup& group : file.groups) {
    counts[group.name] += group.comparisons.size();
    if (group.name == "tf32 logits") {
      EXPECT_DOUBLE_EQ(group.comparisons.at(0).allowed, 4e-3);
    }
  }
  EXPECT_EQ(counts.at("tf32 losses"), static_cast<size_t>(golden.steps));
  EXPECT_EQ(counts.at("tf32 memory"), 3U);
  EXPECT_FALSE(counts.contains("float32 losses"));
}

TEST(VerifyTf32, IsUnavailableOnCpus) {
  const GoldenCase golden = read_golden(test::golden_path("tiny_2025"));
  const auto verify = [&] { verify_golden(golden, on_one_thread(), {}, find_device, {.known = {}, .tf32 = true}); };
  EXPECT_THAT(test::error_of(verify), testing::HasSubstr("a CPU lacks"));
}

}  // namespace
}  // namespace laptime
