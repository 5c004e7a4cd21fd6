// StopSignals: turns the signals that would end the program into an orderly stop.
#pragma once

#include <csignal>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/units.h"

namespace laptime {

enum class SignalAnswer : uint8_t {
  kStop,    // counted: the step at hand ends, and everything finished is written
  kIgnore,  // a write that fails; it returns an error of its own
  kCrash,   // an error of the program: the default action, after which the kernel ends the child processes
};

struct EndingSignal {
  int number = 0;
  SignalAnswer answer = SignalAnswer::kStop;
};

// Every signal that can be caught and that ends a program by default.
std::vector<EndingSignal> ending_signals();

// For the whole life of the program: signals with kIgnore are ignored.
void ignore_failed_writes();

// While the object exists, the signals with kStop are counted instead of ending the process. After the second the
// process has kGrace to end in order, and after the third none: then it exits with code 130, whatever it waits for. Its
// child processes die with it. A signal with another action than the default, which nohup or a profiler has set, keeps
// it; SIGINT and SIGTERM are always counted. There may be one object at a time.
class StopSignals {
 public:
  static constexpr int kGrace = 2;  // seconds

  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // For poll(): readable when a signal has arrived since the last count().
  int descriptor() const { return descriptor_; }

  // Number of signals so far.
  int count();

  // Returns after this time, or earlier when a signal arrives.
  void wait(Seconds time) const;

  // Whether this process has been asked to stop, also after the object has gone. For code that waits for somebody else,
  // such as the reader of a pipe.
  static bool requested();

  // Blocks the signals that are counted while it exists; a process that is forked meanwhile has them blocked for good.
  class Blocked {
   public:
    Blocked();
    ~Blocked();
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;

   private:
    sigset_t previous_{};
  };

  // In a process forked with the signals blocked: whether it has been sent one; never becomes false again.
  static bool pending();

 private:
  std::vector<std::pair<int, struct sigaction>> previous_;  // of the signals that are counted
  int descriptor_ = -1;
};

}  // namespace laptime
