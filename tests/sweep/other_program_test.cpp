// Programs with children: limits and signals reach all of them.
#include "sweep/other_program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>

#include "base/host_clock.h"

namespace laptime {
namespace {

constexpr Seconds kNoTimeLimit{100};

std::vector<std::string> in_shell(const std::string& script) { return {"sh", "-c", script}; }

TEST(OtherProgram, ReturnsOutputErrorsAndExitCode) {
  StopSignals signals;
  const OtherProgram ran = run_other_program(in_shell("echo out; echo err >&2; exit 3"), kNoTimeLimit, signals);
  EXPECT_EQ(ran.output, "out\n");
  EXPECT_EQ(ran.errors, "err\n");
  EXPECT_EQ(ran.exit_code, 3);
}

TEST(OtherProgram, StartsWithTheDefaultActionOfIgnoredSignals) {
  std::signal(SIGPIPE, SIG_IGN);
  StopSignals signals;
  const OtherProgram ran = run_other_program(in_shell("kill -PIPE $$; exit 3"), kNoTimeLimit, signals);
  std::signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(ran.exit_code, 128 + SIGPIPE);
}

TEST(OtherProgram, TimeLimitKillsProgramsStartedByAWrapper) {
  StopSignals signals;
  const OtherProgram ran = run_other_program(in_shell("sh -c 'echo $$; exec sleep 100'; true"), Seconds{0.3}, signals);
  EXPECT_EQ(ran.exit_code, 128 + SIGKILL);
  const int started = std::stoi(ran.output);
  for (int look = 0; look < 500 && kill(started, 0) == 0; ++look) usleep(10'000);
  EXPECT_EQ(kill(started, 0), -1) << "the program that the wrapper started still runs";
}

TEST(OtherProgram, TimeLimitDoesNotWaitForAProcessThatLeftTheGroup) {
  StopSignals signals;
  const Seconds begin = host_now();
  const std::clock_t used = std::clock();
  const OtherProgram ran = run_other_program(in_shell("setsid sleep 6 & echo done; wait"), Seconds{0.3}, signals);
  EXPECT_EQ(ran.exit_code, 128 + SIGKILL);
  EXPECT_EQ(ran.output, "done\n");
  EXPECT_LT((host_now() - begin).count(), 5);
  EXPECT_LT(std::clock() - used, CLOCKS_PER_SEC) << "waiting takes no processor time";
}

TEST(OtherProgram, TimeLimitKillsAProgramThatHasClosedItsOutput) {
  StopSignals signals;
  const Seconds begin = host_now();
  const OtherProgram ran = run_other_program(in_shell("echo done; exec sleep 8 >&- 2>&-"), Seconds{0.3}, signals);
  EXPECT_EQ(ran.exit_code, 128 + SIGKILL);
  EXPECT_EQ(ran.output, "done\n");
  EXPECT_LT((host_now() - begin).count(), 5);
}

TEST(OtherProgram, FirstSignalReachesProgramsStartedByAWrapper) {
  StopSignals signals;
  const std::string inner =
      "trap \"echo stopped; exit\" TERM; kill -INT " + std::to_string(getpid()) + "; sleep 10 >&- 2>&- & wait";
  const OtherProgram ran = run_other_program(in_shell("sh -c '" + inner + "'; true"), kNoTimeLimit, signals);
  EXPECT_EQ(ran.output, "stopped\n");
}

}  // namespace
}  // namespace laptime
