// Ctrl-C and SIGTERM as something to wait for and to ask about, rather than as interruptions.
#pragma once

#include <csignal>

namespace laptime {

// While it lives, SIGINT and SIGTERM no longer end the process (nor its children, which inherit that): they are counted
// when asked for. One at a time, made while the process has a single thread.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Readable when a signal has come: for poll().
  int descriptor() const { return descriptor_; }

  // How many have come so far. Signals of one kind that come faster than they are looked at count as one.
  int count();

  // In a child: whether one of them has been sent to it. It stays so.
  static bool pending();

 private:
  sigset_t previous_{};
  int descriptor_ = -1;
  int count_ = 0;
};

}  // namespace laptime
