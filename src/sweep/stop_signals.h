// StopSignals: turns the signals that would end the program into an orderly stop.
#pragma once

#include <csignal>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/units.h"

namespace laptime {

enum class SignalAnswer : uint8_t {
  kStop,    // counts the signal: the current step finishes, and all completed work is written
  kIgnore,  // ignores the signal: it comes from a failed write, which also returns an error
  kCrash,   // takes the default action, because the program has a bug; the kernel then ends the child processes
};

struct EndingSignal {
  int number = 0;
  SignalAnswer answer = SignalAnswer::kStop;
};

// All signals that can be caught and that terminate a program by default.
std::vector<EndingSignal> ending_signals();

// For the whole program: ignores signals with kIgnore, and takes the default action for SIGCHLD. If the caller of the
// program ignores SIGCHLD, the system would otherwise discard the exit codes of child processes.
void set_up_signals();

// While the object exists, signals with kStop are counted instead of terminating the process. After the second signal,
// the process has kGrace to end normally; the third makes it exit at once with code 130, even in a blocking call. Child
// processes die with the process. If nohup or a profiler has changed the action of a signal, that action stays, except
// that SIGINT and SIGTERM are always counted. Only one object may exist at a time.
class StopSignals {
 public:
  static constexpr int kGrace = 2;  // seconds

  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // A descriptor for poll(), readable if a signal has arrived since the last count().
  int descriptor() const { return descriptor_; }

  // Number of counted signals since the object was created.
  int count();

  // Waits for this time, or until a signal arrives.
  void wait(Seconds time) const;

  // True if this process has been asked to stop. The answer remains valid after the StopSignals object is destroyed.
  // For code that waits for another process, for example until it reads a pipe or unlocks a store.
  static bool requested();

  // Blocks the counted signals while the object exists; they stay blocked in a process that is forked in the meantime.
  class Blocked {
   public:
    Blocked();
    ~Blocked();
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;

   private:
    sigset_t previous_{};
  };

  // In a process that was forked with the signals blocked: true if one of these signals has arrived since the fork.
  static bool pending();

 private:
  std::vector<std::pair<int, struct sigaction>> previous_;  // earlier actions of the counted signals
  int descriptor_ = -1;
};

}  // namespace laptime
