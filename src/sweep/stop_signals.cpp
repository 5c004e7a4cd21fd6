// The table of terminating signals, and the handler that counts them.
#include "sweep/stop_signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>

#include "base/error.h"

namespace laptime {
namespace {

constexpr int kInterruptedExit = 130;  // the exit code that shells use after Ctrl-C

constexpr std::array kEndingSignals{
    EndingSignal{SIGHUP, SignalAnswer::kStop},     // a closed terminal
    EndingSignal{SIGINT, SignalAnswer::kStop},     // Ctrl-C
    EndingSignal{SIGQUIT, SignalAnswer::kStop},    // Ctrl-backslash
    EndingSignal{SIGTERM, SignalAnswer::kStop},    // the command kill, or a batch system before its time limit
    EndingSignal{SIGUSR1, SignalAnswer::kStop},    // a batch system's early warning
    EndingSignal{SIGUSR2, SignalAnswer::kStop},    // a batch system's early warning
    EndingSignal{SIGXCPU, SignalAnswer::kStop},    // the limit on CPU time (ulimit -t)
    EndingSignal{SIGPWR, SignalAnswer::kStop},     // a power failure
    EndingSignal{SIGALRM, SignalAnswer::kStop},    // the end of kGrace, or sent by another program
    EndingSignal{SIGVTALRM, SignalAnswer::kStop},  // a timer that laptime does not set; other programs can send it
    EndingSignal{SIGPROF, SignalAnswer::kStop},    // a profiler's timer, unless the profiler handles it
    EndingSignal{SIGPOLL, SignalAnswer::kStop},    // asynchronous I/O, which laptime does not use
    EndingSignal{SIGSTKFLT, SignalAnswer::kStop},  // unused by Linux; other programs can send it
    EndingSignal{SIGPIPE, SignalAnswer::kIgnore},  // a pipe without a reader
    EndingSignal{SIGXFSZ, SignalAnswer::kIgnore},  // a file at its size limit (ulimit -f)
    EndingSignal{SIGILL, SignalAnswer::kCrash},   EndingSignal{SIGTRAP, SignalAnswer::kCrash},
    EndingSignal{SIGABRT, SignalAnswer::kCrash},  EndingSignal{SIGBUS, SignalAnswer::kCrash},
    EndingSignal{SIGFPE, SignalAnswer::kCrash},   EndingSignal{SIGSEGV, SignalAnswer::kCrash},
    EndingSignal{SIGSYS, SignalAnswer::kCrash}};

std::atomic<int> signals_seen;
std::atomic<int> signals_event;  // descriptor that becomes readable when a signal arrives
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not use locks");

void count_signal(int number) {
  const int error = errno;
  const int count = ++signals_seen;
  if (count > 2 || (count == 2 && number == SIGALRM)) _exit(kInterruptedExit);
  if (count == 2) alarm(StopSignals::kGrace);
  const uint64_t one = 1;
  if (write(signals_event, &one, sizeof(one)) < 0) errno = 0;  // harmless: signals_seen counts the signal
  errno = error;
}

struct sigaction action_of(int number) {
  struct sigaction action {};
  sigaction(number, nullptr, &action);
  return action;
}

bool may_take(int number) {
  const bool is_always_ours = number == SIGINT || number == SIGTERM;
  const struct sigaction action = action_of(number);
  return is_always_ours || ((action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL);
}

// The signals that are currently counted.
sigset_t counted_signals() {
  sigset_t set{};
  sigemptyset(&set);
  for (const EndingSignal& signal : ending_signals()) {
    if (action_of(signal.number).sa_handler == count_signal) sigaddset(&set, signal.number);
  }
  return set;
}

}  // namespace

std::vector<EndingSignal> ending_signals() {
  std::vector<EndingSignal> signals(kEndingSignals.begin(), kEndingSignals.end());
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) signals.push_back({number, SignalAnswer::kStop});
  return signals;
}

void set_up_signals() {
  std::signal(SIGCHLD, SIG_DFL);
  for (const EndingSignal& signal : kEndingSignals) {
    if (signal.answer == SignalAnswer::kIgnore) std::signal(signal.number, SIG_IGN);
  }
}

StopSignals::StopSignals() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (descriptor_ < 0) throw Error("cannot watch for signals: no file descriptor is left; raise `ulimit -n`");
  signals_seen = 0;
  signals_event = descriptor_;
  struct sigaction count {};
  count.sa_handler = count_signal;
  count.sa_flags = SA_RESTART;  // restarts system calls, because some libraries do not handle EINTR
  sigemptyset(&count.sa_mask);
  for (const EndingSignal& signal : ending_signals()) {
    if (signal.answer != SignalAnswer::kStop || !may_take(signal.number)) continue;
    previous_.emplace_back(signal.number, action_of(signal.number));
    sigaction(signal.number, &count, nullptr);
  }
}

StopSignals::~StopSignals() {
  alarm(0);
  for (const auto& [number, action] : previous_) sigaction(number, &action, nullptr);
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
  const sigset_t set = counted_signals();
  pthread_sigmask(SIG_BLOCK, &set, &previous_);
}

StopSignals::Blocked::~Blocked() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }

bool StopSignals::pending() {
  sigset_t set{};
  if (sigpending(&set) != 0) return false;
  for (const EndingSignal& signal : ending_signals()) {
    if (signal.answer == SignalAnswer::kStop && sigismember(&set, signal.number) == 1) return true;
  }
  return false;
}

}  // namespace laptime
