// Blocks the stop signals and reads them from a descriptor, which needs no handler and no global flag.
#include "sweep/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"

namespace laptime {
namespace {

sigset_t stop_set() {
  sigset_t set{};
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t set = stop_set();
  pthread_sigmask(SIG_BLOCK, &set, &previous_);
  descriptor_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor_ < 0) throw Error("cannot watch for signals: no file descriptor is left; raise `ulimit -n`");
}

StopSignals::~StopSignals() {
  count();  // consumes pending signals, so that unblocking does not deliver them
  close(descriptor_);
  pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

int StopSignals::count() {
  signalfd_siginfo signal{};
  while (read(descriptor_, &signal, sizeof(signal)) == static_cast<ssize_t>(sizeof(signal))) ++count_;
  return count_;
}

bool StopSignals::pending() {
  sigset_t set{};
  return sigpending(&set) == 0 && (sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1);
}

}  // namespace laptime
