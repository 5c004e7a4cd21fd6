// StopSignals: counts Ctrl-C and SIGTERM, and ends the process if it does not heed them.
#pragma once

#include <csignal>

#include "base/units.h"

namespace laptime {

// While the object exists, SIGINT and SIGTERM are counted instead of ending the process. After the second the process
// has kGrace to end in order, and after the third none: then it exits with code 130, whatever it waits for. Its child
// processes die with it. There may be one object at a time.
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

  // Blocks the signals while it exists; a process that is forked meanwhile has them blocked for good.
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
  struct sigaction previous_interrupt_ {};
  struct sigaction previous_terminate_ {};
  struct sigaction previous_alarm_ {};
  int descriptor_ = -1;
};

}  // namespace laptime
