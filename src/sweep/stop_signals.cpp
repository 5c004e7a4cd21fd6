// The handlers of the stop signals. Only a handler reaches a process that is stuck in a system call.
#include "sweep/stop_signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdint>

#include "base/error.h"

namespace laptime {
namespace {

constexpr int kInterruptedExit = 130;  // as a shell reports a process that Ctrl-C has ended

std::atomic<int> signals_seen;
std::atomic<int> signals_event;  // descriptor
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may use no lock");

void count_signal(int) {
  const int error = errno;
  const int count = ++signals_seen;
  if (count == 2) alarm(StopSignals::kGrace);
  if (count > 2) _exit(kInterruptedExit);
  const uint64_t one = 1;
  if (write(signals_event, &one, sizeof(one)) < 0) errno = 0;  // the counter is enough
  errno = error;
}

void end_process(int) { _exit(kInterruptedExit); }

struct sigaction handled_by(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // not every library expects that a call is interrupted
  sigemptyset(&action.sa_mask);
  return action;
}

sigset_t stop_set() {
  sigset_t set{};
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

StopSignals::StopSignals() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (descriptor_ < 0) throw Error("cannot watch for signals: no file descriptor is left; raise `ulimit -n`");
  signals_seen = 0;
  signals_event = descriptor_;
  const struct sigaction count = handled_by(count_signal);
  const struct sigaction end = handled_by(end_process);
  sigaction(SIGALRM, &end, &previous_alarm_);
  sigaction(SIGINT, &count, &previous_interrupt_);
  sigaction(SIGTERM, &count, &previous_terminate_);
}

StopSignals::~StopSignals() {
  sigaction(SIGINT, &previous_interrupt_, nullptr);
  sigaction(SIGTERM, &previous_terminate_, nullptr);
  alarm(0);
  sigaction(SIGALRM, &previous_alarm_, nullptr);
  close(descriptor_);
}

int StopSignals::count() {
  uint64_t events = 0;
  while (read(descriptor_, &events, sizeof(events)) == static_cast<ssize_t>(sizeof(events))) {}
  return signals_seen;
}

void StopSignals::wait(Seconds time) const {
  pollfd event{descriptor_, POLLIN, 0};
  poll(&event, 1, static_cast<int>(std::ceil(time.count() * 1e3)));
}

bool StopSignals::requested() { return signals_seen > 0; }

StopSignals::Blocked::Blocked() {
  const sigset_t set = stop_set();
  pthread_sigmask(SIG_BLOCK, &set, &previous_);
}

StopSignals::Blocked::~Blocked() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }

bool StopSignals::pending() {
  sigset_t set{};
  return sigpending(&set) == 0 && (sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1);
}

}  // namespace laptime
