// StopSignals: turns Ctrl-C and SIGTERM into a counter and a descriptor.
#pragma once

#include <csignal>

namespace laptime {

// While the object exists, SIGINT and SIGTERM are counted instead of ending the process, and child processes inherit
// that they are blocked. There may be one object at a time, created while the process has a single thread.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // For poll(): readable when a signal has arrived.
  int descriptor() const { return descriptor_; }

  // Number of signals so far. Signals of one kind that arrive between two calls count as one.
  int count();

  // In a child process: whether it has been sent a stop signal; never becomes false again.
  static bool pending();

 private:
  sigset_t previous_{};
  int descriptor_ = -1;
  int count_ = 0;
};

}  // namespace laptime
