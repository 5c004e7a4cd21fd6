// Forks and executes. The child reports failure through a pipe that closes when the program starts.
#include "sweep/start_program.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/words.h"
#include "sweep/pipe.h"
#include "sweep/stop_signals.h"

namespace laptime {
namespace {

// Unblocks the signals that laptime counts or ignores, and restores their default actions; a counted signal that nohup
// or the like ignores stays ignored. Signals that have arrived since the fork are then delivered.
void reset_signals() {
  sigset_t reset;
  sigemptyset(&reset);
  for (const EndingSignal& signal : ending_signals()) {
    struct sigaction action {};
    if (signal.answer == SignalAnswer::kCrash || sigaction(signal.number, nullptr, &action) != 0) continue;
    if (signal.answer == SignalAnswer::kIgnore || action.sa_handler != SIG_IGN) std::signal(signal.number, SIG_DFL);
    sigaddset(&reset, signal.number);
  }
  sigprocmask(SIG_UNBLOCK, &reset, nullptr);
}

[[noreturn]] void execute(std::vector<std::string>& words, const ProgramStreams& streams, int problem, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, streams.signal_of_our_death);
  if (getppid() != parent) _exit(1);
  if (streams.has_own_session) setsid();
  reset_signals();
  if (streams.input >= 0) dup2(streams.input, STDIN_FILENO);
  dup2(streams.output, STDOUT_FILENO);
  dup2(streams.errors, STDERR_FILENO);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  const int error = errno;
  if (write(problem, &error, sizeof(error)) < 0) _exit(1);
  _exit(1);
}

}  // namespace

pid_t start_program(std::vector<std::string> words, const ProgramStreams& streams) {
  Pipe problem;
  const pid_t parent = getpid();
  const pid_t child = [&] {
    const StopSignals::Blocked blocked;  // a signal counted in the child between fork and exec would be lost
    const pid_t forked = fork();
    if (forked == 0) execute(words, streams, problem.writing(), parent);
    return forked;
  }();
  if (child < 0)
    throw Error::format("cannot start {} ({}); {}", quote(words.front()), std::strerror(errno), kMoreProcesses);
  problem.close_writing();
  int error = 0;
  ssize_t count = 0;
  do count = read(problem.reading(), &error, sizeof(error));
  while (count < 0 && errno == EINTR);
  if (count <= 0) return child;
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
  throw Error::format("{} cannot be run ({}); {}", quote(words.front()), std::strerror(error), streams.advice);
}

}  // namespace laptime
