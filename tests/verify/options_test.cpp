// Engine options of verify: options that bench rejects are rejected, and the options in use are stated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/verification_text.h"
#include "support/error_of.h"
#include "support/golden_path.h"
#include "verify/verify.h"

namespace laptime {
namespace {

using test::golden_path;
using testing::HasSubstr;

RunConfig on_two_threads() {
  RunConfig machine;
  machine.device = "cpu";
  machine.threads = 2;
  return machine;
}

size_t comparisons_in(const VerifiedFile& file, const std::string& group) {
  size_t count = 0;
  for (const VerifiedGroup& one : file.groups) count += one.name == group ? one.comparisons.size() : 0;
  return count;
}

std::string refusal_of_options(const RunConfig& machine, const char* name) {
  return test::error_of([&] { require_possible(read_golden(golden_path(name)), machine); });
}

TEST(Verify, RejectsOptionsThatBenchRejects) {
  RunConfig machine = on_two_threads();
  machine.mode = Mode::kCompile;
  machine.keep = "linear";
  machine.lower = "adamw";
  EXPECT_THAT(refusal_of_options(machine, "tiny_2025"), HasSubstr("--keep and --lower exclude each other"));
  machine.lower.reset();
  EXPECT_EQ(refusal_of_options(machine, "tiny_2025"), "");
  machine.mode = Mode::kEager;
  EXPECT_EQ(refusal_of_options(machine, "tiny_2025"), "");
  machine.lower = "adamw";
  EXPECT_THAT(refusal_of_options(machine, "tiny_2025"), HasSubstr("--lower needs --mode compile"));
  RunConfig in_backward = on_two_threads();
  in_backward.optimizer_in_backward = true;
  EXPECT_THAT(refusal_of_options(in_backward, "tiny_2025_clip"), HasSubstr("--clip-norm"));
  EXPECT_EQ(refusal_of_options(in_backward, "tiny_2025"), "");
}

TEST(Verify, StatesOptionsAndSkipsExcludedTypes) {
  RunConfig machine = on_two_threads();
  machine.optimizer_in_backward = true;
  machine.reproducible = true;
  const VerifiedFile file = verify_golden(read_golden(golden_path("tiny_2025")), machine);
  EXPECT_TRUE(file.pass()) << print(file);
  EXPECT_THAT(file.machine, HasSubstr("--optimizer-in-backward true"));
  EXPECT_THAT(file.machine, HasSubstr("--reproducible true"));
  EXPECT_EQ(comparisons_in(file, "float16 run"), 1U);
  EXPECT_EQ(comparisons_in(file, "float16 losses"), 0U);
}

}  // namespace
}  // namespace laptime
