// Commands of launchers, and parts of sweeps.
#include "config/launch_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_of.h"

namespace laptime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> words_of(std::string_view text, const SlurmJob& job = {}) {
  return parse_launcher("--launcher", text, job);
}

TEST(Launcher, IsSplitLikeAShellCommand) {
  EXPECT_THAT(words_of("srun -N1  -n1 --exclusive"), ElementsAre("srun", "-N1", "-n1", "--exclusive"));
  EXPECT_THAT(words_of("sh -c '\"$@\" 2>log' sh"), ElementsAre("sh", "-c", "\"$@\" 2>log", "sh"));
  EXPECT_THAT(words_of(" env A=\"b c\" '' "), ElementsAre("env", "A=b c", ""));
}

TEST(Launcher, RejectsEmptyCommandsAndOpenQuotes) {
  EXPECT_THAT(test::error_of([] { words_of("sh -c 'exec"); }), HasSubstr("a quote in 'sh -c 'exec' is not closed"));
  EXPECT_THAT(test::error_of([] { words_of("  "); }), HasSubstr("no command"));
  EXPECT_THAT(test::error_of([] { words_of("''"); }), HasSubstr("no command"));
}

TEST(Launcher, AsksSlurmForAWholeNode) {
  EXPECT_THAT(words_of("slurm"), ElementsAre("srun", "--nodes=1", "--ntasks=1", "--exclusive", "--quiet"));
  EXPECT_THAT(words_of("slurm", {.job_id = "7", .cpus_on_node = "64"}),
              ElementsAre("srun", "--nodes=1", "--ntasks=1", "--exclusive", "--quiet", "--cpus-per-task=64"));
  EXPECT_THAT(words_of("slurm", {.job_id = "7", .cpus_per_task = "8", .cpus_on_node = "64"}).back(),
              "--cpus-per-task=8");
}

SweepPart part_of(std::string_view text, const SlurmJob& job = {}) { return parse_part("--part", text, job); }

TEST(Part, PartsCoverEachPointOnce) {
  for (size_t point = 0; point < 20; ++point) {
    int has = 0;
    for (int64_t k = 1; k <= 3; ++k) has += SweepPart{k, 3}.has(point) ? 1 : 0;
    EXPECT_EQ(has, 1) << point;
  }
  EXPECT_EQ(part_of("2/8"), (SweepPart{2, 8}));
  EXPECT_EQ(part_of("1/1"), (SweepPart{1, 1}));
}

TEST(Part, RejectsMalformedParts) {
  for (const char* const text : {"5/4", "0/4", "-1/4", "1/0", "1", "/", "1/", "a/b", "1/2/3", "1/99999999999", ""})
    EXPECT_THAT(test::error_of([&] { part_of(text); }), HasSubstr("is not a part; give k/n")) << text;
}

TEST(Part, SlurmJobArrayTaskSelectsThePart) {
  EXPECT_EQ(part_of("slurm", {.task_id = "3", .task_min = "1", .task_count = "4"}), (SweepPart{3, 4}));
  EXPECT_EQ(part_of("slurm", {.task_id = "0", .task_min = "0", .task_count = "4"}), (SweepPart{1, 4}));
  EXPECT_THAT(test::error_of([] { part_of("slurm"); }), HasSubstr("not a task of a job array"));
}

TEST(Part, RejectsJobArraysWithGaps) {
  // Tasks of the arrays that `--array=3` and `--array=1,5` submit.
  for (const SlurmJob& job : {SlurmJob{.task_id = "3", .task_min = "3", .task_count = "1"},
                              SlurmJob{.task_id = "5", .task_min = "1", .task_count = "2"}})
    EXPECT_THAT(test::error_of([&] { part_of("slurm", job); }), HasSubstr("numbered from 0 or 1 without gaps"));
}

}  // namespace
}  // namespace laptime
