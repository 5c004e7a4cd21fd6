// The table of terminating signals is complete, and counted signals do not terminate the program.
#include "sweep/stop_signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace laptime {
namespace {

// True for signals that do not terminate a process by default, and for signals that cannot be caught (see signal(7)).
bool ends_no_program(int number) {
  constexpr std::array kOthers{SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH, SIGKILL, SIGSTOP};
  return std::find(kOthers.begin(), kOthers.end(), number) != kOthers.end();
}

TEST(StopSignals, TableHasEverySignalThatTerminates) {
  const std::vector<EndingSignal> signals = ending_signals();
  for (int number = 1; number <= SIGRTMAX; ++number) {
    const auto count = std::count_if(signals.begin(), signals.end(),
                                     [&](const EndingSignal& signal) { return signal.number == number; });
    const bool is_of_the_c_library = number > SIGSYS && number < SIGRTMIN;
    EXPECT_EQ(count, ends_no_program(number) || is_of_the_c_library ? 0 : 1) << number;
  }
}

TEST(StopSignals, CountsEveryStopSignalAndRestoresItsAction) {
  for (const EndingSignal& signal : ending_signals()) {
    if (signal.answer != SignalAnswer::kStop) continue;
    struct sigaction before {};
    struct sigaction after {};
    sigaction(signal.number, nullptr, &before);
    {
      StopSignals signals;
      raise(signal.number);
      EXPECT_EQ(signals.count(), 1) << signal.number;
    }
    sigaction(signal.number, nullptr, &after);
    EXPECT_EQ(before.sa_handler, after.sa_handler) << signal.number;
  }
}

TEST(StopSignals, KeepsHangupIgnoredUnderNohup) {
  std::signal(SIGHUP, SIG_IGN);
  {
    StopSignals signals;
    raise(SIGHUP);
    EXPECT_EQ(signals.count(), 0);
  }
  std::signal(SIGHUP, SIG_DFL);
}

TEST(SetUpSignals, KeepsExitCodesOfChildrenIfTheCallerIgnoresThem) {
  std::signal(SIGCHLD, SIG_IGN);
  set_up_signals();
  const pid_t child = fork();
  if (child == 0) _exit(7);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  for (const int ignored : {SIGPIPE, SIGXFSZ}) std::signal(ignored, SIG_DFL);
}

TEST(StopSignals, LeavesProfilingSignalToTheProfiler) {
  static int samples = 0;
  std::signal(SIGPROF, [](int) { ++samples; });
  {
    StopSignals signals;
    raise(SIGPROF);
    EXPECT_EQ(signals.count(), 0);
  }
  EXPECT_EQ(samples, 1);
  std::signal(SIGPROF, SIG_DFL);
}

}  // namespace
}  // namespace laptime
